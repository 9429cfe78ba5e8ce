import { readConfig } from '../../src/settings/config';
import { enginePorts, PortTakenError, requireFreePorts } from '../../src/start/ports';
import { startSilentServer } from '../support/dead-server';
import { freeOffset } from '../support/npm-start';

const requirePorts = (environment: Record<string, string>) => {
  const config = readConfig(environment);
  return requireFreePorts(config, enginePorts(config));
};

describe('the ports of an engine', () => {
  test('are all shifted by PORT_OFFSET, none by PORT', () => {
    expect(enginePorts(readConfig({}))).toEqual({
      api: 3000,
      metrics: { api: 9464, worker: 9465 },
      postgres: 5433,
      temporal: 7233,
      temporalUi: 8233,
    });
    expect(enginePorts(readConfig({ PORT: '4000', PORT_OFFSET: '100' }))).toEqual({
      api: 4100,
      metrics: { api: 9564, worker: 9565 },
      postgres: 5533,
      temporal: 7333,
      temporalUi: 8333,
    });
  });

  test('are refused all at once, each with who wants it and what to set', async () => {
    const offset = await freeOffset();
    const others = await Promise.all([3000, 8233, 9465].map((port) => startSilentServer(port + offset)));
    const error = await requirePorts({ PORT_OFFSET: String(offset) }).catch((thrown: unknown) => thrown);
    for (const other of others) other.stop();

    expect(error).toBeInstanceOf(PortTakenError);
    expect(String(error)).toContain(`Port ${3000 + offset} for the API is taken by another program.`);
    expect(String(error)).toContain(`Port ${8233 + offset} for the embedded Temporal's UI is taken`);
    expect(String(error)).toContain(
      `Port ${9465 + offset} for the worker's metrics is taken by another program. Stop what listens there, or set METRICS_PORT`,
    );
    expect(String(error)).not.toContain(String(9464 + offset));
    expect(String(error)).toContain('set PORT_OFFSET to shift all ports');
    expect(String(error)).not.toContain(String(5433 + offset));
    await expect(requirePorts({ PORT_OFFSET: String(offset) })).resolves.toBeUndefined();
  });

  test('are refused where no browser or HTTP client would call them', async () => {
    await expect(requirePorts({ PORT: '6000', METRICS_PORT: '0' })).rejects.toThrow(
      /^Port 6000 for the API is one that browsers and most HTTP clients refuse to call\. .*set PORT,/m,
    );
  });

  test('of metrics are nobody’s concern where none are served', async () => {
    const offset = await freeOffset();
    const others = await Promise.all([9464, 9465].map((port) => startSilentServer(port + offset)));
    await expect(requirePorts({ PORT_OFFSET: String(offset), METRICS_PORT: '0' })).resolves.toBeUndefined();
    for (const other of others) other.stop();
  });

  test('of servers that are given are nobody’s concern', async () => {
    const offset = await freeOffset();
    const others = await Promise.all([5433, 7233, 8233].map((port) => startSilentServer(port + offset)));
    const environment = {
      PORT_OFFSET: String(offset),
      ASSENT_MODE: 'sandbox',
      DATABASE_URL: 'postgres://elsewhere/assent',
      TEMPORAL_ADDRESS: 'elsewhere:7233',
    };
    await expect(requirePorts(environment)).resolves.toBeUndefined();
    for (const other of others) other.stop();
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
