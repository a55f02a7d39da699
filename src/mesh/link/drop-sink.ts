/** Port: counts what was refused or thrown away, by reason. */
export interface DropSink {
  count(reason: string): void;
}
