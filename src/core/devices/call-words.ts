/** The words of a language for what a call does to devices. Names of devices and of Matter elements are put in as they are. */
export interface TargetWords {
  /** Returns an action with its devices. `verb` is a verb of `verbOf`, such as `Turn on`. */
  readonly action: (verb: string, devices: string) => string;
  readonly read: (element: string, devices: string) => string;
  /** Returns a device of which only these parts are meant. */
  readonly parts: (device: string, numbers: readonly string[]) => string;
  readonly pathOf: (path: string, device: string) => string;
  readonly counted: (count: number, kind: 'devices' | 'things', places: number | undefined) => string;
  readonly andMore: (names: string, more: number) => string;
}

/** The words of a language for a whole call in one line. */
export interface CallWords extends TargetWords {
  readonly runs: (program: string) => string;
  readonly inSteps: (count: number) => string;
  /** Returns a call with what it does and touches, each of which may be empty. `work` says what it runs; it may be empty. */
  readonly call: (named: string, facts: { readonly work: string; readonly does: string; readonly touches: string }) => string;
  /** Returns a call that has no targets. */
  readonly byTool: (named: string, tool: string, work: string) => string;
}

/** English, the language of the hub itself. */
export const ENGLISH_CALL: CallWords = {
  action: (verb, devices) => `${verb} ${devices}`,
  read: (element, devices) => `Read the ${element} of ${devices}`,
  parts: (device, numbers) => `${device}, part${numbers.length > 1 ? 's' : ''} ${numbers.join(' and ')}`,
  pathOf: (path, device) => `${path} of ${device}`,
  counted: (count, kind, places) => `${count} ${kind}${places === undefined ? '' : ` in ${places} places`}`,
  andMore: (names, more) => `${names} and ${more} more`,
  runs: (program) => `, which runs ${program}`,
  inSteps: (count) => `, in ${count} step${count === 1 ? '' : 's'}`,
  call: (named, { work, does, touches }) => {
    const ways = [...(does === '' ? [] : [`does this: ${does}`]), ...(touches === '' ? [] : [`touches ${touches}`])];
    return `${named}${work}${work === '' ? ', which ' : '; it '}${ways.join(', and ')}`;
  },
  byTool: (named, tool, work) => `${named} by ${tool}${work}`,
};
