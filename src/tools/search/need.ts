/** One way to meet a need. */
export interface Alternative {
  /** A word, `~meaning`, `!action` or `#unit`. */
  readonly term: string;
  /** 0 to 1. */
  readonly strength: number;
  /** How well the need is met by it, 0 to 1, where that is not the strength: a meaning stands for its word nearly in full. */
  readonly fit?: number;
  /** Only nearly the word that was written. */
  readonly isNear?: true;
}

/**
 * What a word is in its sentence: a `thing`, a `place` or a `quality` of the lexicon, any other word (`name`), a part of how it is at
 * home (`situation`), or one that hardly tells anything (`weak`).
 */
export type NeedRole = 'thing' | 'place' | 'quality' | 'name' | 'situation' | 'weak';

/** One thing that a query asks for; a document meets it by the best of its alternatives. */
export interface Need {
  /** For people, such as `kitchen` or `turn off`. */
  readonly label: string;
  readonly alternatives: readonly Alternative[];
  /** What meeting it counts: a factor on the rarity for words, the worth itself for all else. */
  readonly weight: number;
  /** `word`: rare ones count more; `hint`: met or not, and never missed. */
  readonly kind: 'word' | 'action' | 'hint';
  /** Of a word. */
  readonly role?: NeedRole;
  /** Of a hint: what it says of the wish. */
  readonly hint?: 'situation' | 'deed' | 'reading' | 'state' | 'value';
}

/** One wish of a sentence. */
export interface Wish {
  /** As it was said. */
  readonly text: string;
  readonly needs: readonly Need[];
  /** The actions that were said, or the opposite of those that were said not to be done. */
  readonly actions: ReadonlyMap<string, number>;
  /** The same, or what the situation asks for that the sentence tells. */
  readonly sought: ReadonlyMap<string, number>;
  /** Actions whose tools are no answer: the opposite of what was said, and what was said not to be done. */
  readonly forbidden: ReadonlySet<string>;
  /** A question about how things are: an answer reads and never acts. */
  readonly isQuestion: boolean;
  /** Something was said not to be done. */
  readonly isNegated: boolean;
  /** Several things are meant: `all the lights`. */
  readonly isForAll: boolean;
}
