/** Makes the first attempt of each webhook that this workflow's work has announced. */
export type Tell = (carrier: string) => Promise<unknown>;
