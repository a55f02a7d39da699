// biome-ignore-all lint/suspicious/noTemplateCurlyInString: they are texts of a shell
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { analyzeCommand } from '../../../src/connectors/sandbox/command-analysis.ts';
import { DEFAULT_SAFETY_RULES, SafetyRules } from '../../../src/connectors/sandbox/safety-rules.ts';
import { processorMs } from '../../processor-time.ts';
import { seededRandom } from '../../seeded-random.ts';

/** Lines for each shell; a longer run takes other numbers from the environment. */
const LINES = Number(process.env.ATMO_FUZZ_LINES ?? 500);
const SEED = Number(process.env.ATMO_FUZZ_SEED ?? 20_260_101);
/** Lines that one process of a shell runs, one after another, each in a copy of itself. */
const BATCH = 250;
/** Each place of the marker in a line has a name of its own. */
const MARKERS = 40;

const listed = (lines: readonly string[]): readonly string[] => lines.flatMap((one) => one.split('¦'));
/** What shells read in ways of their own. Nothing here runs anything but the stub `danger` and harmless words of the shell. */
const PIECES = listed([
  'danger¦danger¦danger¦danger¦ danger ¦;danger;¦\ndanger\n¦:¦: ¦x¦a=1 ¦a=¦echo ¦env ¦command ¦ ¦ ¦ ¦\t¦\n¦\n¦;¦;¦&¦&&¦||¦|¦|&¦!',
  '! ¦\f¦\v¦\r¦\u00a0¦\u2003¦\'¦\'¦"¦"¦`¦`¦\\¦\\\n¦#¦ #¦#¦$\'¦$"¦\\\'¦\\"¦\\`¦\\\\¦\\$¦$¦$x¦${x}¦${x:-¦${x#¦${#x}¦${x/¦}¦$(¦$(¦)',
  ")¦$((¦))¦((¦$[¦]¦[¦a[¦[1]=¦$#¦$1¦$@¦(¦{¦{ ¦}¦ }¦; }¦{a,¦,¦{,¦..¦{}¦1¦2¦12¦1<<2¦2#1¦1+1¦<¦>o¦>¦>&2¦2>&1¦&>o¦&>¦<<E¦<<E¦<<'E'",
  '<<-E¦<<\\E¦<<$x¦<<<x¦\nE\n¦\nE\n¦\n\tE\n¦E¦<(¦>(¦if ¦then ¦fi¦else ¦for x in a; do ¦done¦do ¦case x in ¦case x in x) ¦x) ¦*) ',
  "esac¦;;¦;&¦ in ¦case ¦in¦[[ ¦ ]]¦[ ¦ ] ¦==¦=~¦f() ¦function ¦time ¦select ¦coproc ¦eval ¦eval '¦sh -c ¦sh -c '¦trap ¦ EXIT¦?(",
  '*(¦@(¦+(¦*¦?¦~¦=¦%¦^¦é¦😀',
]);

/** Whole forms: `@` is another one or pieces. */
const FORMS = listed([
  'a[1 << E ]=3\n@\nE¦: ${x:- <<E }\n@¦[[ 1 << E ]]\n@¦: $((1 << E ))\n@¦((1 << E ))\n@¦: ${x:-"}; @ #"}¦: $((1 # ))\n@¦[[ a =~ # ]]; @',
  'a[ # ]=1; @¦a[x #]=1\n@¦: ${x//#/ #}; @¦: `: # ` ; @¦: $(: # )\n)@¦: $((1)#); @¦: "$[1 # ]"; @¦: ${#x}; @¦: $#; @¦: $(( $# )); @',
  "for x do @; done¦for x\ndo @; done¦for x in a; { @; }¦if { @; } then @; fi¦while (@) do break; done¦: ${x:-'}; @ #'}¦: \"${x:-'}\"; @ #'",
  ': ${x:- #}; @¦: ${x:-<<E}\n@¦((1<<x))\n@¦echo $[1<<2]\n@¦a[1<<2]=3\n@¦((2 #1)); @¦:\f#; @¦[[ x == #y ]]\n@¦[[ 1 <<E ]]\n@',
  'case x in x) @ ;; esac¦case x in (y|x) @;; *) @; esac¦case in in in) @;; esac; @¦if @; then @; else @; fi',
  'for x in a b; do @; done¦{ @; }¦( @ )¦! @¦while @; do break; done¦for x do @; done¦$(@)¦"$(@)"¦`@`¦"`@`"¦: "${x:-$(@)}"',
  ": ${x:-`@`}¦: $((1+$(@)))¦: $(( (@) ))¦: $((@) )¦: $[ $(@) ]¦eval '@'¦eval \"@\"¦sh -c '@'¦bash -c '@'¦sh -c \"@\"",
  "trap '@' EXIT¦f() { @; }; f¦f()\n( @ )\nf¦env @¦env -u x @¦command @¦exec @¦time @¦builtin eval @¦cat <<E\n@\nE\n@",
  "cat <<'E'\n@\nE\n@¦cat <<-E\n\t@\n\tE\n@¦cat <<E; @\n@\nE\n@¦cat <<E <<F\n@\nE\n@\nF\n@¦: # @\n@¦cat <<E |\n@\nE\n@",
  'cat <<E $(\n@\n)\n@\nE\n@¦$(cat <<E\n@\nE\n)@¦$(cat <<E)\n@\nE\n@¦`cat <<E\n@\nE\n`;@¦@;@¦@\n@¦@ && @¦@ || @¦@ | @¦@ & @',
  ": >o @¦>o @¦2>o @¦12>o @¦{x}>o @¦&>o @¦: &>o @¦a=1 @¦a[1]=2 @¦a=(1 2) @¦a=(@) ¦a+=1 @¦''@¦{,@}¦{@,x}¦{a,{b,@}¦{a},@}¦$'\\''; @",
  '$\'a\'; @¦$"a"; @¦: <(@)¦: > >(@)¦[[ x || @ ]]¦[[ @ && @ ]]¦: \\\n@¦da\\\nnger¦d""anger¦\'danger\'¦dan"ger"¦\\danger¦:;\\\n@',
  ': "\n@"\n@¦: \'\n@\'\n@¦: "$x\\"; @"; @¦[ x ] && @¦((@))¦(( @ ) )¦( (@) )¦$( (@) )¦$((@));@¦function f { @; }; f¦coproc @',
  'coproc f { @; }¦select x in a; do @; done¦for x in @; do :; done¦for ((i=0;i<1;i++)); do @; done¦x=$(@) y=`@` :',
  'if :; then case x in x) @;; esac; fi; @',
]);

const random = seededRandom(SEED);
const oneOf = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
const soup = (length: number): string => Array.from({ length: 1 + Math.floor(random() * length) }, () => oneOf(PIECES)).join('');

/** A form with forms, pieces and the marker in its places, at times with a sign lost or doubled. */
function form(depth: number): string {
  const whole = oneOf(FORMS).replaceAll('@', () => {
    const choice = random();
    if (choice < 0.55 || depth === 0) return choice < 0.05 ? soup(3) : 'danger';
    return choice < 0.95 ? form(depth - 1) : soup(6);
  });
  const at = Math.floor(random() * whole.length);
  const change = random();
  if (change < 0.05) return whole.slice(0, at) + whole.slice(at + 1);
  if (change < 0.2) return whole.slice(0, at) + oneOf(PIECES) + whole.slice(at);
  return whole;
}

/** No function of the name of the marker: it could call itself for ever. */
function line(): string {
  for (;;) {
    const text = random() < 0.2 ? soup(14) : form(2) + (random() < 0.3 ? oneOf(PIECES) + form(1) : '');
    let count = 0;
    if (!/(?<!\bf)\(\s*\)|function\s+(?!f\b)|\bf\b.*\bf\(\)/s.test(text.replaceAll('\\\n', '')) && text.length < 2_000)
      return text.replaceAll('danger', (name) => (count < MARKERS ? `${name}${count++}` : name));
  }
}

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'shell-text-'));
  mkdirSync(join(folder, 'bin'));
  mkdirSync(join(folder, 'work'));
  writeFileSync(join(folder, 'bin/danger'), '#!/bin/sh\necho "$LINE_NUMBER ${0##*/}" >&9\nexit 1\n');
  chmodSync(join(folder, 'bin/danger'), 0o755);
  for (let index = 0; index < MARKERS; index++) symlinkSync('danger', join(folder, `bin/danger${index}`));
  for (const path of ['/bin/sh', '/bin/bash', '/usr/bin/env', '/bin/cat']) symlinkSync(path, join(folder, 'bin', basename(path)));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Run {
  readonly text: string;
  readonly marker: string;
}

/** Which markers a shell ran by which line. */
function ranIn(shell: string, lines: readonly string[]): readonly Run[] {
  const quoted = lines.map((text, index) => {
    const word = `'${text.replaceAll("'", `'\\''`)}'`;
    return `LINE_NUMBER=${index}\n(ulimit -t 1; eval ${word}) </dev/null >/dev/null 2>&1`;
  });
  const script = join(folder, 'lines');
  writeFileSync(script, `exec 9>&1\nexport LINE_NUMBER\nulimit -f 100\nset -- 1\n${quoted.join('\n')}\n`);
  const { stdout } = spawnSync(shell, [script], {
    cwd: join(folder, 'work'),
    env: { PATH: join(folder, 'bin'), LANG: 'C.UTF-8' },
    encoding: 'utf8',
    timeout: 30_000,
    killSignal: 'SIGKILL',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const told = new Set(stdout.split('\n').filter((one) => /^\d+ /.test(one)));
  return [...told].map((one) => ({ text: lines[Number.parseInt(one, 10)] ?? '', marker: one.replace(/^\d+ /, '') }));
}

/** Whether the reader says that the marker could run, or that a shell runs a file of its name. */
function isSeen({ text, marker }: Run): boolean {
  const { commands, isComputed, unreadable } = analyzeCommand(['sh', '-c', '--', text]);
  if (isComputed || unreadable !== undefined) return true;
  return commands.some(({ words: [program, ...args], isText }) => {
    const isFile = /^(?:ba)?sh$/.test(program?.text ?? '') && !args.some((arg) => /^-\w*c/.test(arg.text));
    return !isText && (program?.text === marker || (isFile && args.some((arg) => arg.text === marker)));
  });
}

describe('a text that a shell runs', () => {
  test.each(['/bin/sh', '/bin/bash'])('hides no command of %s from the reader', (shell) => {
    const missed: Run[] = [];
    let runs = 0;
    let read = 0;
    for (let count = 0; count < LINES; count += BATCH) {
      for (const run of ranIn(shell, Array.from({ length: BATCH }, line))) {
        runs++;
        if (!isSeen(run)) missed.push(run);
        if (analyzeCommand(['sh', '-c', '--', run.text]).unreadable === undefined) read++;
      }
    }
    expect(missed).toEqual([]);
    // Most lines run something, and many of them are read exactly.
    expect(runs).toBeGreaterThan(LINES / 4);
    expect(read).toBeGreaterThan(LINES / 10);
  });
});

const rules = new SafetyRules(DEFAULT_SAFETY_RULES);

describe('the text of a shell', () => {
  test.each([
    [': ${x:- #}; rm -rf /', /nothing destructive/],
    [': # rm -rf /', /nothing destructive/],
    ["cat <<'E'\nrm -rf /\nE", /nothing destructive/],
    ['awk \'BEGIN{system("rm -rf /")}\'', /nothing destructive/],
    ["x='a[$(rm -rf /)]'; echo $((x))", /nothing destructive/],
    ['eval -- rm -rf /', /nothing destructive/],
    ["sh -co errexit 'rm -rf /'", /nothing destructive/],
    ["env -u X env -S 'rm -rf /'", /nothing destructive/],
    ['env -u X $y', /computes its command|cannot know before it runs/],
    ['f() { sh; }; cat x | f', /computes its command|cannot know before it runs/],
    ['cat x | sh /dev/stdin -c ls', /computes its command|cannot know before it runs/],
    ['{,rm} -rf /', /computes its command|cannot know before it runs/],
  ])('is seen whole: %s', (text, told) => {
    expect(() => rules.requireSafe(['bash', '-c', text], '/tmp')).toThrow(told);
  });

  test.each([
    [': ${x:-<<E}\nrm -rf /', '${…}'],
    [': ${x:-$(ls)}', '${…}'],
    ['((1<<x))\nrm -rf /', '((…))'],
    ['((2 #1)); rm -rf /', '((…))'],
    ['echo $[1<<2]\nrm -rf /', '$[…]'],
    ['echo $((2#1))', '$((…))'],
    ['a[1<<2]=3\nrm -rf /', 'name[…]'],
    ['a=(1 2)', 'parentheses'],
    ['[[ a == #b ]]', '`#` in `[[ … ]]`'],
    [':\f#; rm -rf /', 'a blank or control character'],
    [':\u00a0#; rm -rf /', 'a blank or control character'],
    ['echo `echo \\`ls\\``', 'backquotes'],
    ['cat <<$x\nrm -rf /\n$x', 'a here-document whose last line is no plain word'],
    ['cat <<E\nrm', 'a here-document without its last line'],
    ['cat <<E\na\\\nE\nrm\nE', 'a backslash at the end of a line of a here-document'],
    ["echo 'a", "' that nothing closes"],
    ["echo $'\\''", "$'…'"],
    [': &>x rm -rf /', 'words behind `&>`'],
    ['alias x=rm; x -rf /', 'alias'],
    ['function f { ls; }', 'function'],
    ['awk \'{ print | $1 "x" | getline }\'', 'awk'],
  ])('that has a construct which is not read is refused by its name: %s', (text, construct) => {
    expect(() => rules.requireSafe(['bash', '-c', text], '/tmp')).toThrow(construct);
  });

  test('of another shell than sh and bash is refused, and its files run', () => {
    expect(() => rules.requireSafe(['zsh', '-c', 'ls'], '/tmp')).toThrow('a text for zsh');
    expect(() => rules.requireSafe(['zsh', 'build.zsh'], '/tmp')).not.toThrow();
  });
});

describe('the rules read in a bounded time', () => {
  const shell = (text: string) => ['sh', '-c', text];
  const many = (count: number, text: string) => text.repeat(count);

  test.each<readonly [string, readonly string[]]>([
    ['brackets', shell(`ls -o=/${many(62_000, '[')}*`)],
    ['brackets in many words', shell(`ls ${many(62, `${many(1_000, '[')}* `)}`)],
    ['wildcards', shell(`ls ${Array.from({ length: 62 }, (_, index) => `${index}${many(480, '*a')}`).join(' ')}`)],
    ['subscripts', shell(many(15_000, 'a[x]'))],
    ['dots in braces', shell(`ls {${many(62_000, '.')}`)],
    ['ranges', shell(`ls {${many(31_000, '..')}}`)],
    ['braces', shell(`ls ${many(2_000, `${many(6, '{a,b}')} `)}`)],
    ['braces in braces', shell(`ls ${many(300, '{a,')}${many(300, '}')}`)],
    ['runners of a shell with a long text', ['env', ...many(190, 'sh ').trim().split(' '), '-c', many(400, 'ls; ')]],
    ['runners of runners', ['env', ...many(95, 'env sh ').trim().split(' '), '-c', many(30_000, 'a ')]],
    ['a text of runners', shell(`${many(95, 'env sh ')}-c '${many(10_000, 'ls;')}'`)],
    ['words that evaluate', shell(`env ${many(195, 'eval ')}'${many(10_000, 'ls;')}'`)],
    ['different words', shell(Array.from({ length: 16_000 }, (_, index) => index.toString(36)).join(' '))],
    ['groups', shell(many(30_000, '( '))],
    ['substitutions', shell(many(20_000, '"$('))],
    ['variables', shell(`echo "${many(30_000, '$x')}"`)],
    ['quoted substitutions', shell(`echo '${many(30_000, '$(')}'`)],
    ['here-documents', shell(`${many(8_000, 'cat <<A ')}\n${many(8_000, 'A\n')}`)],
    ['a comment', shell(`# ${many(20_000, "rm' ")}`)],
    ['a program for awk', shell(`awk '${many(30_000, '\\"')}'`)],
  ])('that has many %s', async (_, argv) => {
    const judge = () => {
      try {
        rules.requireSafe(argv, '/tmp');
      } catch (error) {
        expect(error).toMatchObject({ code: 'RULE_BLOCKED' });
      }
    };
    const times = [await processorMs(judge), await processorMs(judge), await processorMs(judge)];
    expect(Math.min(...times)).toBeLessThan(200);
  });
});
