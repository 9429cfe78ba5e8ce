/** Work that is done at once, and again after `everyMs` if it was asked for meanwhile. */
export function atMostEvery(everyMs: number, work: () => void): () => void {
  let isResting = false;
  let isAsked = false;
  return function ask(): void {
    if (isResting) {
      isAsked = true;
      return;
    }
    isResting = true;
    isAsked = false;
    setTimeout(() => {
      isResting = false;
      if (isAsked) ask();
    }, everyMs).unref();
    work();
  };
}
