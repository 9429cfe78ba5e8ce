/**
 * Shares one statement between many calls: a call waits for the statement under way, and has the
 * next with all that came meanwhile. A call that comes alone does not wait.
 *
 * @param max calls of one statement; more wait for the next
 * @param work answers in the order of the calls
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
