/**
 * Places for what a process takes in for longer than a request lasts otherwise. Of one caller they
 * are a few, so that one which is slow keeps no other's out.
 */
export class CallerPlaces {
  private readonly held = new Map<string, number>();

  constructor(private readonly places: { all: number; ofCaller: number }) {}

  /** @returns false where no place is free; else the caller holds one until it leaves */
  enter(callerId: string): boolean {
    const own = this.held.get(callerId) ?? 0;
    const all = [...this.held.values()].reduce((sum, some) => sum + some, 0);
    if (own === this.places.ofCaller || all === this.places.all) return false;
    this.held.set(callerId, own + 1);
    return true;
  }

  leave(callerId: string): void {
    const left = (this.held.get(callerId) ?? 1) - 1;
    if (left === 0) this.held.delete(callerId);
    else this.held.set(callerId, left);
  }
}
