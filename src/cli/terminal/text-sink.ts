/** Where text goes; a stream of the process is one. */
export interface TextSink {
  write(text: string): unknown;
  /** Whether a person looks at it. */
  readonly isTTY?: boolean;
  /** Width of that person's terminal, in columns. */
  readonly columns?: number;
}
