let people = 0;

/** Somebody whom no test of the file has met before, as a bank sends them. */
export function person(more: Record<string, unknown> = {}) {
  const n = ++people;
  return {
    clientRef: `ref-${n}`,
    firstname: 'Ada',
    lastname: 'Obi',
    accountName: 'Ada Obi',
    email: `ada${n}@example.com`,
    country: 'NG',
    accountNumber: `ACC${100_000 + n}`,
    ...more,
  };
}
