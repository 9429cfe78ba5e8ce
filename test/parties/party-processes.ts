import type { PartyProcess } from './process';

/** Processes that are ended together, also where one of them does not start. */
export class PartyProcesses {
  private readonly started: PartyProcess[] = [];

  /** @returns where it listens */
  async urlOf(starting: Promise<PartyProcess>): Promise<string> {
    const party = await starting;
    this.started.push(party);
    return party.ready.url;
  }

  async stop(): Promise<void> {
    await Promise.all(this.started.map((party) => party.stop()));
  }
}
