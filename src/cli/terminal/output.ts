import { type AtmoError, ERROR_CODES, type ErrorCode } from '../../core/errors.ts';
import { isJsonObject } from '../../core/json.ts';
import { terminalText } from '../../core/untrusted-text.ts';
import type { CliIo } from '../cli-io.ts';
import { isLoopback } from '../identity/credential.ts';
import { colorizerFor, type Printable, type RenderTarget, renderText } from './blocks.ts';
import { everyInterval, Spinner, type TextSink } from './spinner.ts';

type OutputStreams = Pick<CliIo, 'stdout' | 'stderr'> & Partial<Pick<CliIo, 'env' | 'every'>>;

/** The next steps that the package of the hub and the client package name differently: where no hub answers, and where a token is missing or useless. */
export type ProgramAdvice = Readonly<Record<'HUB_UNREACHABLE' | 'UNAUTHENTICATED' | 'TOKEN_EXPIRED' | 'TOKEN_INVALID', string>>;

interface OutputOptions {
  readonly isJson: boolean;
  readonly advice: ProgramAdvice;
}

interface Work {
  /** Prints the current step as a line on stderr. If there is a spinner, it shows the step too. */
  step(text: string): void;
}

/** Prints results on stdout: a JSON document with `--json`, else text for people. Everything else goes to stderr. */
export class Output {
  readonly isJson: boolean;
  readonly #streams: OutputStreams;
  readonly #advice: ProgramAdvice;
  #spinner: Spinner | undefined;

  constructor(streams: OutputStreams, { isJson, advice }: OutputOptions) {
    this.#streams = streams;
    this.#advice = advice;
    this.isJson = isJson;
  }

  get isTerminal(): boolean {
    return !this.isJson && this.#streams.stdout.isTTY === true;
  }

  /** Whether stderr is a terminal. */
  get isWatched(): boolean {
    return this.#streams.stderr.isTTY === true;
  }

  /** Prints the command's result: `value` for programs, `human` for people. */
  answer(value: unknown, human: () => Printable): void {
    const text = this.isJson ? terminalText(JSON.stringify(value, null, 2)) : renderText(human(), this.#paper(this.#streams.stdout));
    if (text !== '') this.#print(this.#streams.stdout, text.endsWith('\n') ? text : `${text}\n`);
  }

  /** Prints one line of a stream. With `--json` each line is a JSON document. */
  line(value: unknown, human: Printable): void {
    const text = this.isJson ? terminalText(JSON.stringify(value)) : renderText(human, this.#paper(this.#streams.stdout));
    this.#print(this.#streams.stdout, `${text}\n`);
  }

  note(text: Printable): void {
    this.#print(this.#streams.stderr, `${renderText(text, this.#paper(this.#streams.stderr)).replace(/\n$/, '')}\n`);
  }

  /** Runs work that may take long. Prints each step on stderr. If stderr is a terminal, also shows a spinner. */
  async during<Result>(text: string, run: (work: Work) => Promise<Result>): Promise<Result> {
    if (!this.#canRedraw()) return run({ step: (step) => this.note(step) });
    using spinner = new Spinner(this.#streams.stderr, text, this.#streams.every ?? everyInterval);
    this.#spinner = spinner;
    try {
      return await run({
        step: (step) => {
          this.note(step);
          spinner.update(step.trim());
        },
      });
    } finally {
      this.#spinner = undefined;
    }
  }

  /** Prints an error and returns its exit code. With `--json` also prints `document`, which by default contains only the error. */
  fail(error: AtmoError, document: object = { error: error.toBody() }): number {
    if (this.isJson) this.#print(this.#streams.stdout, `${terminalText(JSON.stringify(document, null, 2))}\n`);
    const { ink } = this.#paper(this.#streams.stderr);
    const text = terminalText(`${error.message}\n${detailLines(error).join('')}`);
    const next = this.stepAfter(error);
    this.#print(
      this.#streams.stderr,
      `${ink(error.code, 'bad')}: ${text}${next === undefined ? '' : `${ink('→', 'warning')} ${terminalText(next)}\n`}`,
    );
    return ERROR_CODES[error.code].exitCode;
  }

  /** Returns what to type after an error; undefined if there is nothing to say, or the message says it. */
  stepAfter(error: AtmoError): string | undefined {
    return nextStep(error, this.#advice);
  }

  #canRedraw(): boolean {
    return this.#streams.stderr.isTTY === true && this.#streams.env?.TERM !== 'dumb' && this.#spinner === undefined;
  }

  #paper(sink: TextSink): RenderTarget {
    return { columns: sink.isTTY === true ? sink.columns : undefined, ink: colorizerFor(sink, this.#streams.env ?? {}) };
  }

  /** Prints a text whose control characters `renderText` or `terminalText` has already replaced. */
  #print(sink: TextSink, text: string): void {
    if (this.#spinner) this.#spinner.whileHidden(() => sink.write(text));
    else sink.write(text);
  }
}

/** Returns the problems in a VALIDATION_ERROR, one per line, if it has several. */
function detailLines({ details }: AtmoError): string[] {
  const problems = Array.isArray(details.problems) ? details.problems.filter(isJsonObject) : [];
  if (problems.length < 2) return [];
  return problems.map(({ pointer, parameter, message }) => `  ${pointer ?? parameter ?? ''} ${message}\n`);
}

const STEPS: Readonly<Partial<Record<ErrorCode, string>>> = {
  RULE_BLOCKED: 'atmo rules lists them; atmo rules test TOOL tells which one decides',
  TOOL_NOT_FOUND: "atmo tools --search 'what it does' finds one",
  AMBIGUOUS_TOOL: 'atmo tools lists them with their whole names',
  DEVICE_NOT_FOUND: 'atmo devices lists them',
  AMBIGUOUS_DEVICE: 'atmo devices lists them with their ids',
  SENSOR_NOT_FOUND: 'atmo sensors lists them',
  JOB_NOT_FOUND: 'atmo jobs lists them',
  DEVICE_UNREACHABLE: 'atmo device ping DEVICE asks whether it is there; see that it has power',
  COMMISSIONING_FAILED: 'atmo half-commissioned tells what is left of it; atmo doctor looks at the network',
  STORAGE_FAILED: 'atmo doctor looks at the disk and its permissions',
};

/** The next step if a token with more permissions is needed. */
const WIDER_TOKEN = 'atmo token show - tells what a token may do; atmo token mint makes another';

/** Next steps for errors whose code alone does not tell what to do. The message must match too. */
const STEPS_BY_MESSAGE: readonly (readonly [code: ErrorCode, message: RegExp, step: string])[] = [
  ['NOT_FOUND', /^No device, or more than one, has or had the name /, 'atmo device names lists them'],
  ['NOT_FOUND', /^There is no hub /, 'atmo mesh peers lists them'],
  ['NOT_FOUND', /^There is no agent /, 'atmo agents lists them'],
  ['VALIDATION_ERROR', /^Sensor id /, 'atmo sensors lists them'],
];

/** Returns the command to type after an error. Returns undefined if the message already names a command. */
export function nextStep({ code, message, details }: AtmoError, advice: Partial<Record<ErrorCode, string>> = {}): string | undefined {
  if (message.includes('atmo ')) return undefined;
  if (code === 'PERMISSION_DENIED' && 'required' in details) return WIDER_TOKEN;
  if (code === 'INTERNAL_ERROR' && 'log_id' in details) return `journalctl -u atmosphere-edge | grep ${details.log_id}`;
  // A hub at another address is there already; that it does not answer is no reason to sign in.
  if (code === 'HUB_UNREACHABLE' && !(typeof details.url === 'string' && isLoopback(details.url))) return undefined;
  return advice[code] ?? STEPS[code] ?? STEPS_BY_MESSAGE.find(([of, pattern]) => of === code && pattern.test(message))?.[2];
}
