/** One way to meet a need. */
export interface Alternative {
  /** A word, `~meaning`, `!action` or `#unit`. */
  readonly term: string;
  /** 0 to 1. */
  readonly strength: number;
}

/** One thing that a query asks for; a document meets it by the best of its alternatives. */
export interface Need {
  /** For people, such as `kitchen` or `turn off`. */
  readonly label: string;
  readonly alternatives: readonly Alternative[];
  /** What meeting it counts: a factor on the rarity for words, the worth itself for all else. */
  readonly weight: number;
  /** `word`: rare ones count more; `hint`: met or not, and never missed. */
  readonly kind: 'word' | 'action' | 'hint';
}
