import { readConfig } from '../../src/settings/config';
import { enginePorts, PortTakenError, requireFreePorts } from '../../src/start/ports';
import { startSilentServer } from '../support/dead-server';
import { freeOffset } from '../support/npm-start';

const requirePorts = (environment: Record<string, string>) => {
  const config = readConfig(environment);
  return requireFreePorts(config, enginePorts(config));
};

describe('the ports of an engine', () => {
  test('are refused all at once, each with who wants it and what to set', async () => {
    const offset = await freeOffset();
    const others = await Promise.all([3000, 8233, 9465].map((port) => startSilentServer(port + offset)));
    const error = await requirePorts({ PORT_OFFSET: String(offset) }).catch((thrown: unknown) => thrown);
    for (const other of others) other.stop();

    expect(error).toBeInstanceOf(PortTakenError);
    const taken = (port: number, name: string, setting: string) =>
      `Port ${port + offset} for ${name} is taken by another program. Stop what listens there, or set ` +
      `${setting}, or set PORT_OFFSET to shift all ports.`;
    expect((error as Error).message.split('\n')).toEqual([
      taken(3000, 'the API', 'PORT'),
      taken(9465, "the worker's metrics", 'METRICS_PORT'),
      taken(8233, "the embedded Temporal's UI", 'TEMPORAL_ADDRESS'),
    ]);
    await expect(requirePorts({ PORT_OFFSET: String(offset) })).resolves.toBeUndefined();
  });

  test('are refused where no browser or HTTP client would call them', async () => {
    await expect(requirePorts({ PORT: '6000', METRICS_PORT: '0' })).rejects.toThrow(
      /^Port 6000 for the API is one that browsers and most HTTP clients refuse to call\. .*set PORT,/m,
    );
  });

  test('of metrics that are off, and of servers that are given, are nobody’s concern', async () => {
    const offset = String(await freeOffset());
    const listen = (...ports: number[]) =>
      Promise.all(ports.map((port) => startSilentServer(port + Number(offset))));
    const metrics = await listen(9464, 9465);
    await expect(requirePorts({ PORT_OFFSET: offset, METRICS_PORT: '0' })).resolves.toBeUndefined();
    for (const other of metrics) other.stop();
    const servers = await listen(5433, 7233, 8233);
    const given = { DATABASE_URL: 'postgres://elsewhere/assent', TEMPORAL_ADDRESS: 'elsewhere:7233' };
    const environment = { PORT_OFFSET: offset, ASSENT_MODE: 'sandbox', ...given };
    await expect(requirePorts(environment)).resolves.toBeUndefined();
    for (const other of servers) other.stop();
  });

  test('end at 65535', async () => {
    await expect(requirePorts({ PORT: '65000', PORT_OFFSET: '10000' })).rejects.toThrow(
      'Port 75000 for the API does not exist',
    );
    await expect(requirePorts({ METRICS_PORT: '65535' })).rejects.toThrow(
      "Port 65536 for the worker's metrics does not exist",
    );
  });
});
