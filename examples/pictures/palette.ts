import { crc32, deflateSync, inflateSync } from 'node:zlib';

/**
 * A screenshot as a PNG of 256 colours, half the size: a page has few, and the edges of its
 * letters make the others.
 *
 * @param png as Chromium writes it: 8 bits a channel, not interlaced
 */
export function withPalette(png: Buffer): Buffer {
  const { header, data } = read(png);
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)];
  const channels = header[9] === 6 ? 4 : 3;
  const pixels = unfiltered(inflateSync(data), width * channels, height, channels);
  const colours = Uint32Array.from({ length: width * height }, (_, n) => {
    const at = n * channels;
    return ((pixels[at] ?? 0) << 16) | ((pixels[at + 1] ?? 0) << 8) | (pixels[at + 2] ?? 0);
  });
  const palette = commonest(colours);
  const indexOf = new Map(palette.map((colour, n) => [colour, n]));
  const rows = Buffer.alloc((width + 1) * height);
  colours.forEach((colour, n) => {
    const index = indexOf.get(colour) ?? nearest(palette, colour);
    indexOf.set(colour, index);
    rows[Math.floor(n / width) * (width + 1) + 1 + (n % width)] = index;
  });
  const indexed = Buffer.from(header);
  indexed[9] = 3;
  return Buffer.concat([
    png.subarray(0, 8),
    chunk('IHDR', indexed),
    chunk('PLTE', Buffer.from(palette.flatMap((colour) => channelsOf(colour)))),
    chunk('IDAT', deflateSync(rows, { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

const COLOURS_MAX = 256;

function read(png: Buffer): { header: Buffer; data: Buffer } {
  const parts: Buffer[] = [];
  let header: Buffer = Buffer.alloc(0);
  for (let at = 8; at < png.length;) {
    const length = png.readUInt32BE(at);
    const type = png.toString('latin1', at + 4, at + 8);
    const body = png.subarray(at + 8, at + 8 + length);
    if (type === 'IHDR') header = body;
    if (type === 'IDAT') parts.push(body);
    at += 12 + length;
  }
  return { header, data: Buffer.concat(parts) };
}

/** Undoes what PNG does to each row before it is compressed. */
function unfiltered(raw: Buffer, stride: number, height: number, channels: number): Buffer {
  const pixels = Buffer.alloc(stride * height);
  for (let y = 0; y < height; y++) {
    const filter = raw[y * (stride + 1)];
    for (let x = 0; x < stride; x++) {
      const left = x < channels ? 0 : (pixels[y * stride + x - channels] ?? 0);
      const up = y === 0 ? 0 : (pixels[(y - 1) * stride + x] ?? 0);
      const corner = x < channels || y === 0 ? 0 : (pixels[(y - 1) * stride + x - channels] ?? 0);
      const guess = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter ?? 0] ?? 0;
      pixels[y * stride + x] = (raw[y * (stride + 1) + 1 + x] ?? 0) + guess;
    }
  }
  return pixels;
}

function paeth(left: number, up: number, corner: number): number {
  const [a, b, c] = [left, up, corner].map((one) => Math.abs(left + up - corner - one)) as [
    number,
    number,
    number,
  ];
  if (a <= b && a <= c) return left;
  return b <= c ? up : corner;
}

function commonest(colours: Uint32Array): number[] {
  const counts = new Map<number, number>();
  for (const colour of colours) counts.set(colour, (counts.get(colour) ?? 0) + 1);
  return [...counts]
    .sort(([, one], [, other]) => other - one)
    .slice(0, COLOURS_MAX)
    .map(([colour]) => colour);
}

function nearest(palette: number[], colour: number): number {
  const wanted = channelsOf(colour);
  const distances = palette.map((one) =>
    channelsOf(one).reduce((sum, channel, n) => sum + (channel - (wanted[n] ?? 0)) ** 2, 0),
  );
  return distances.indexOf(Math.min(...distances));
}

const channelsOf = (colour: number) => [colour >> 16, (colour >> 8) & 255, colour & 255];

function chunk(type: string, body: Buffer): Buffer {
  const typed = Buffer.concat([Buffer.from(type, 'latin1'), body]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(body.length);
  sum.writeUInt32BE(crc32(typed));
  return Buffer.concat([length, typed, sum]);
}
