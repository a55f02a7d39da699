/** Draws from a source of random numbers from 0 to below 1. */
export class Draw {
  readonly random: () => number;

  constructor(random: () => number) {
    this.random = random;
  }

  /** A number from `least` to below `most`. */
  between(least: number, most: number): number {
    return least + this.random() * (most - least);
  }

  /** A whole number from 0 to below `count`. */
  index(count: number): number {
    return Math.floor(this.random() * count);
  }

  chance(share: number): boolean {
    return this.random() < share;
  }

  /** A time between two events that happen independently of each other, with this mean. */
  pause(meanMs: number): number {
    return -Math.log(1 - this.random()) * meanMs;
  }

  /** One of the items. Throws if there is none. */
  pick<Item>(items: readonly Item[]): Item {
    const item = items[this.index(items.length)];
    if (item === undefined) throw new Error('There is nothing to pick from');
    return item;
  }

  /** Bytes as hex digits. */
  hex(bytes: number): string {
    return Array.from({ length: bytes }, () => this.index(256).toString(16).padStart(2, '0')).join('');
  }
}
