import type { CliIo } from '../cli-io.ts';
import type { TextSink } from './text-sink.ts';

/** What a text says besides its words. */
export type Tone = 'plain' | 'good' | 'warning' | 'bad' | 'quiet' | 'strong';

/** Text in the colour of its tone, or as it is. The text must be one that cannot steer the terminal by itself. */
export type Ink = (text: string, tone: Tone) => string;

/** ECMA-48 §8.3.117 (SGR): what switches a tone on, and off again. */
const SGR: Readonly<Record<Exclude<Tone, 'plain'>, readonly [on: number, off: number]>> = {
  good: [32, 39],
  warning: [33, 39],
  bad: [31, 39],
  quiet: [2, 22],
  strong: [1, 22],
};

const withoutInk: Ink = (text) => text;

const colours: Ink = (text, tone) => (tone === 'plain' || text === '' ? text : `\u001b[${SGR[tone][0]}m${text}\u001b[${SGR[tone][1]}m`);

/** Colours on a terminal that has them: NO_COLOR (no-color.org) forbids them, FORCE_COLOR wants them in a pipe as well. */
export function inkFor(sink: TextSink, env: CliIo['env']): Ink {
  return wantsColours(sink, env) ? colours : withoutInk;
}

function wantsColours({ isTTY = false }: TextSink, { NO_COLOR, FORCE_COLOR, TERM }: CliIo['env']): boolean {
  if (NO_COLOR !== undefined && NO_COLOR !== '') return false;
  if (FORCE_COLOR !== undefined) return FORCE_COLOR !== '0' && FORCE_COLOR !== 'false';
  return isTTY && TERM !== 'dumb';
}
