import { createSocket } from 'node:dgram';
import { once } from 'node:events';

/** The addresses of a name, that it does not exist, or nothing. */
export type DnsAnswer = { 4?: string; 6?: string } | 'no such name' | 'silence';

/**
 * A DNS server on a free port of 127.0.0.1. It knows what it is told, and is silent about all else.
 */
export async function startDnsServer(names: Record<string, DnsAnswer> = {}) {
  const asked: string[] = [];
  const known = new Map(Object.entries(names));
  const socket = createSocket('udp4');
  socket.on('message', (query, { port, address }) => {
    const { name, type, question } = readQuestion(query);
    asked.push(`${type} ${name}`);
    const answer = known.get(name) ?? 'silence';
    if (answer === 'silence') return;
    const found = answer === 'no such name' ? undefined : type === 'A' ? answer[4] : answer[6];
    // A record of class IN that is good for no time: its name is that of the question.
    const record = found === undefined ? [] : [0xc0, 12, 0, type === 'A' ? 1 : 28, 0, 1, 0, 0, 0, 0];
    const data = found === undefined ? [] : addressBytes(found);
    const header = Buffer.from(query.subarray(0, 12));
    header.writeUInt16BE(answer === 'no such name' ? 0x81_83 : 0x81_80, 2);
    header.writeUInt16BE(found === undefined ? 0 : 1, 6);
    header.writeUInt32BE(0, 8);
    const length = data.length > 0 ? [0, data.length] : [];
    socket.send(
      Buffer.concat([header, question, Buffer.from([...record, ...length, ...data])]),
      port,
      address,
    );
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return {
    server: `127.0.0.1:${socket.address().port}`,
    /** Each packet that came, e.g. `A bank.test`. */
    asked,
    stop: async () => {
      socket.close();
      await once(socket, 'close');
    },
  };
}

function readQuestion(query: Buffer) {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return {
    name: labels.join('.').toLowerCase(),
    type: query.readUInt16BE(at + 1) === 28 ? 'AAAA' : 'A',
    question: query.subarray(12, at + 5),
  };
}

function addressBytes(address: string): number[] {
  if (!address.includes(':')) return address.split('.').map(Number);
  return address
    .split(':')
    .map((group) => Number.parseInt(group, 16))
    .flatMap((group) => [group >> 8, group & 0xff]);
}
