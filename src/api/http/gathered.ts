/**
 * Does for many callers at once what would cost a statement for each: a call waits for the one
 * under way, and shares the next with all that came meanwhile. Under load one statement serves
 * many, and no more than one runs; a call that comes alone waits for nobody.
 *
 * @param max of one statement; more wait for the next
 * @param work answers in the order of what was asked
 */
export function gathered<Asked, Answer>(
  max: number,
  work: (asked: Asked[]) => Promise<Answer[]>,
): (one: Asked) => Promise<Answer> {
  let last: Promise<unknown> = Promise.resolve();
  let gathering: { asked: Asked[]; answers: Promise<Answer[]> } | undefined;

  function gather() {
    const asked: Asked[] = [];
    const answers = last.then(() => {
      if (gathering?.asked === asked) gathering = undefined;
      return work(asked);
    });
    last = answers.catch(() => undefined);
    return { asked, answers };
  }

  return async (one) => {
    if (gathering === undefined || gathering.asked.length >= max) gathering = gather();
    const { asked, answers } = gathering;
    const place = asked.push(one) - 1;
    const all = await answers;
    if (place >= all.length) throw new Error('what was asked was left unanswered');
    return all[place] as Answer;
  };
}
