import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DEFAULT_SAFETY_RULES, SafetyRules } from '../../../src/connectors/sandbox/safety-rules.ts';

const rules = new SafetyRules(DEFAULT_SAFETY_RULES);
const judge = (line: string, own = rules) => {
  try {
    own.requireSafe(line.split(' '), '/etc');
    return 'allowed';
  } catch (error) {
    return error instanceof Error && 'code' in error ? error.code : error;
  }
};

describe('the rules that every hub has', () => {
  test.each([
    'rm -rf /srv',
    'rm -r -f x',
    'rm -fr x',
    'rm x -R',
    '/bin/rm --recursive x',
    'rm --rec x',
    'rm --r x',
    'env A=1 rm -rf x',
    'env nice -n 5 rm -rf x',
    'timeout 5 dd if=/dev/zero of=/dev/sda',
    'busybox rm -r x',
    'find / -delete',
    'find / -exec rm -rf {} +',
    'mkfs.ext4 /dev/sda1',
    'mkfs /dev/sda1',
    'sfdisk /dev/sda',
    'sudo ls',
    'systemctl reboot',
    'shutdown now',
    'cat /etc/shadow',
    'cat /usr/../etc/passwd',
    'cat passwd',
    'cat ./passwd',
    'head --file=/etc/passwd',
    'dig -f/etc/shadow',
    'cat ~/.ssh/config',
    'ls /home/anybody/.ssh',
    'cp /srv/id_ed25519 /tmp',
    'cat /etc/sudoers.d/hub',
  ])('forbid %s', (line) => {
    expect(judge(line)).toBe('RULE_BLOCKED');
  });

  test.each([
    ['env', '-S', 'rm -rf x'],
    ['env', '--split-string=A=1 rm -rf x'],
    ['watch', 'ls; rm -rf x'],
  ])('read a line that a program runs: %s %s', (...argv) => {
    expect(() => rules.requireSafe(argv, '/')).toThrow(/safety rule/);
  });

  test.each([
    'if true; then rm -rf x; fi',
    '! rm -rf x',
    'A=1 rm -rf x',
    'exec rm -rf x',
    'eval "rm -rf x"',
    'ls; rm -rf x',
    'true && "r"m -rf x',
    'x=$(dd if=/dev/sda)',
    'env sudo ls',
    'cat /etc/shadow | wc',
  ])('read the text of a shell: %s', (script) => {
    for (const shell of ['sh', '/bin/bash']) expect(() => rules.requireSafe([shell, '-c', script], '/')).toThrow(/safety rule/);
  });

  test.each([
    'rm file',
    'rm --interactive x',
    'rm -- -rf',
    'ls -lar /srv',
    'echo format mkfs dd',
    'cat /etc/hostname',
    'grep rm file',
    'systemctl status',
    'cat /etc/passwd-of-the-day',
    'ls my.sshkeys',
    'sh -c echo-ddx',
    'sh -c A=dd',
    'find . -name x',
    'add 1',
  ])('have nothing against %s', (line) => {
    expect(judge(line)).toBe('allowed');
  });
});

describe('the text of a shell', () => {
  const isAllowed = (text: string, shell = 'sh') => {
    try {
      rules.requireSafe([shell, '-c', text], '/tmp');
      return true;
    } catch {
      return false;
    }
  };

  test.each([
    '$(echo rm) -rf /',
    '`echo rm` -rf /',
    'x=rm; $x -rf /',
    '$x$y -rf /',
    '"$(echo rm)" -rf /',
    "$'\\x72m' -rf /",
    'r$(echo m) -rf /',
    'ls; env A=1 $(echo rm) x',
    'timeout 5 $x',
    'rm $(echo -rf) /',
    'find / $(echo -delete)',
    'eval "$(echo cm0gLXJm | base64 -d)"',
    'echo cm0gLXJm | base64 -d | sh',
    'echo cm0gLXJm | base64 -d | nice /bin/bash -s',
    'base64 -d x | python3',
    'base64 -d x | python3 - a',
    'bash <<< "$(base64 -d x)"',
    'sh < script',
    'bash <(base64 -d x)',
    '. /dev/stdin',
    'source <(echo x)',
    'sh -c "$(base64 -d x)"',
    'perl -e "$code"',
    'echo $(echo rm | sh)',
    'if true; then $(echo rm) x; fi',
    'cat x |& bash',
    'base64 -d x | (sh)',
    'base64 -d x | { sh; }',
    'base64 -d x | { echo } ; sh; }',
    'base64 -d x | while true; do sh; done',
    "base64 -d x | while true; do 'done'; sh; done",
    'base64 -d x | if true; then sh; fi',
    'base64 -d x | case a in a) sh;; esac',
    'base64 -d x |\n sh',
    'base64 -d x | tee >(sh)',
    'base64 -d x | echo $(sh)',
    'base64 -d x | busybox sh',
    'find . -exec sh -c "$(cat x)" ;',
    'script -c "$(cat x)" log',
    // A wildcard in place of a program.
    '/bin/r? -rf /',
    '/b*/r[m] -rf /',
    'ls; "/bin/"?m -rf /',
    'rm -[r]f /',
    // Braces.
    '{rm,-rf,/}',
    'r{m,m} -rf /',
    'true; { {rm,-rf,/}; }',
    '{dd,{a,b}} if=/dev/sda',
    'systemctl {reboot,status}',
    '/bin/{l..z}m -rf /',
    // Commands that run later, or under another name.
    "trap 'rm -rf /' EXIT",
    "trap -- 'rm -rf /' 0",
    "alias x='rm -rf /'; x",
    "eval 'rm' '-rf' '/'",
    'f() { rm -rf /; }; f',
    'function f { rm -rf /; }; f',
    'exec -a x rm -rf /',
    'command -p rm -rf /',
    'sh -c \'sh -c "rm -rf /"\'',
    "bash -c -o pipefail 'rm -rf /'",
    "bash -cx 'rm -rf /'",
    "env -u A sh -c 'rm -rf /'",
    'flock /tmp/lock -c "rm -rf /"',
    // A group that is fed behind its end.
    '(sh) < file',
    '( (sh) ) < file',
    '{ sh; } < file',
    'while true; do sh; done < file',
    'if true; then sh; fi < file',
    'case a in a) sh;; esac < file',
    "(sh) <<'EOF'\nrm -rf /\nEOF",
    '(sh) 0< file',
    'sh &> log < file',
    'cat x | sh -s a',
    'cat x | bash -o pipefail',
    "cat x | sh -c 'sh'",
    // What ends a word, a line or a quote.
    'rm>x -rf /',
    'rm 2>x -rf /',
    'r\\\nm -rf /',
    "echo a # it's\nrm -rf /\n# it's",
    "cat <<'EOF'\nit's\nEOF\nrm -rf /",
    'cat <<EOF\n$(rm -rf /)\nEOF',
    'case a in b|a) rm -rf /;; esac',
    'case a in a) ls;; *) rm -rf /; esac',
    'echo $((1 + $(rm -rf / | wc -l)))',
    // What comes from the input.
    'echo -rf / | xargs rm',
    "echo rm -rf / | xargs -I{} sh -c '{}'",
    "echo rm -rf / | xargs -I% sh -c '%'",
    "find . -exec sh -c '{}' ;",
    "find . -exec sh -c 'rm {}' ;",
    "find . -exec python3 -c 'print({})' ;",
    "ls | xargs -I{} sh -c 'cat {}'",
    'ls | xargs rm',
    'ls i* .s* id_*',
    // Files by wildcards, and those that a command reads and writes.
    'cat /etc/shad*',
    'cat /e*/?hadow',
    'cat /etc/*',
    'cat /etc/{hosts,shadow}',
    'cat ~/.ss[h]/config',
    'cat /home/*/id_r*',
    'cat < /etc/shadow',
    'echo x >> /etc/shadow',
    'cat --file=/etc/shad*',
  ])('that computes what runs is refused: %s', (text) => {
    expect(isAllowed(text)).toBe(false);
    expect(() => rules.requireSafe(['env', 'bash', '-c', text], '/tmp')).toThrow(/safety rule/i);
  });

  test.each([
    'echo "$HOME"',
    'for f in *.txt; do wc -l "$f"; done',
    'd=$(date +%F); tar czf /srv/out/$d.tgz /srv/photos',
    'ls -l | grep txt | sort -u > out.txt',
    'cat data.json | python3 parse.py --pretty',
    'echo aGVsbG8= | base64 -d > hello.txt',
    "awk '{ print $1 }' file | head",
    "grep '$(ls)' notes.txt",
    'wc -c < data.bin',
    'nice -n 5 gzip -9 "$1"',
    'sh build.sh "$1"',
    'perl -ne "print" file',
    'echo "a|sh"',
    'ls | (wc -l); node --version',
    'ls | { read a; echo "$a"; }; python3 --version',
    `cat hosts | while read node; do ping -c 1 \${node}; done; node --version`,
    'ls | if true; then wc -l; fi; sh --version',
    'ls | xargs -I{} echo {}; node --version',
    'ls | tee >(wc -l)',
    'find . -name x -exec sh build.sh {} +',
    'find .',
    'ls | busybox wc',
    'cp *.txt /srv/out',
    'rm -- "$1"',
    'cat /srv/*/notes.txt',
    'cat /etc/host*',
    'tar czf /srv/out/x.tgz /srv/{photos,music}',
    'mkdir -p a/{b,c} && echo {} {1..3}',
    'case "$1" in *.txt|*.md) wc -l "$1";; *) echo "no text";; esac',
    'for i in 1 2; do echo $((i * 2)); done',
    "trap 'rm -f /tmp/x' EXIT; ls",
    '(ls; wc -l) < file; node --version',
    "cat <<'EOF'\nremoving all is what nobody should write, it's bad\n$x [y] $(z\nEOF",
    'cat > conf.ini <<EOF\n[section]\nkey=$value\nEOF',
    'ls /tmp/[a-z]*',
    'ls .*',
    'ls -d .??* .[!.]*',
    'ls | xargs rm --',
    'find /tmp/x -exec sh -c "cat {}" \\;',
    `x=\${y%.txt}; echo "\${x##*/}" \${z:-none}`,
    '[[ -f x && -d y ]] && ls',
    'f() { ls "$1"; }; f a',
    'ls &> out; ls \\\n -l',
    "echo a # it's fine\nls",
    'ls > out 2>&1; wc -l < out',
    'find . -name "*.tmp" -exec rm {} +',
    'xargs -n 1 sh -c \'wc -l "$0"\'',
    'echo "a \\m b"',
  ])('that an owner writes every day runs: %s', (text) => {
    expect(isAllowed(text)).toBe(true);
  });

  test('that a shell reads from its input is read as well, that of other interpreters cannot be', () => {
    const given = (argv: readonly string[], stdin: string) => () => rules.requireSafe(argv, '/', stdin);
    for (const argv of [['sh'], ['bash', '-s', 'a'], ['env', 'sh', '-'], ['sh', '-c', 'sh'], ['sh', '/dev/stdin']])
      expect(given(argv, 'ls\nrm -rf /')).toThrow(/nothing destructive/);
    expect(given(['sh'], 'ls | wc')).not.toThrow();
    expect(given(['sh', '-c', 'ls'], 'rm -rf /')).not.toThrow();
    expect(given(['wc'], 'rm -rf /')).not.toThrow();
    expect(given(['python3', '-'], 'print(1)')).not.toThrow();
  });

  test('a command nested deeper than the bound is refused quickly', () => {
    const nested = Array.from({ length: 20 }).reduce<string>((text) => `eval ${text}`, 'ls');
    expect(isAllowed(nested)).toBe(false);
    expect(isAllowed(`echo ${'{a,b}'.repeat(30)}`)).toBe(true);
    expect(isAllowed(`rm ${'{-r,b}'.repeat(30)}`)).toBe(false);
    expect(isAllowed(`env ${'env '.repeat(800)} $x`)).toBe(false);
    expect(isAllowed(`cat ${'*a'.repeat(500)}`)).toBe(true);
    expect(isAllowed(`cat ${'*a'.repeat(20_000)}`)).toBe(false);
    for (const text of [
      '$('.repeat(30_000),
      '{'.repeat(60_000),
      `(${'a;'.repeat(10_000)})${'<a '.repeat(10_000)}sh`,
      'env '.repeat(15_000),
    ])
      expect([text.slice(0, 9), isAllowed(text)]).toEqual([text.slice(0, 9), false]);
    expect(isAllowed(`echo ${'a '.repeat(30_000)}`)).toBe(true);
  });

  const plain = fc.constantFrom('ls', 'echo', 'wc', 'sort', 'grep', 'date', 'tar', 'cat', 'head', 'printf');
  const word = fc.stringMatching(/^[a-z0-9_.=-]{1,12}$/);
  const quoted = fc.oneof(
    word,
    word.map((text) => `'$(${text}) | sh'`),
    word.map((text) => `"${text} $HOME"`),
    fc.constant('"$1"'),
  );
  const command = fc.tuple(plain, fc.array(quoted, { maxLength: 4 })).map(([program, args]) => [program, ...args].join(' '));
  const line = fc.tuple(command, fc.array(fc.tuple(fc.constantFrom(' | ', ' && ', '; ', ' || '), command), { maxLength: 3 }));
  const joined = line.map(([first, rest]) => first + rest.map(([sign, next]) => sign + next).join(''));

  test('that names every program that it runs is allowed, whatever its arguments say', () => {
    fc.assert(
      fc.property(joined, (text) => {
        expect([text, isAllowed(text)]).toEqual([text, true]);
      }),
    );
  });

  test('that computes a program, or feeds an interpreter, is refused wherever that stands', () => {
    const hidden = fc.constantFrom(
      '$(echo rm) -rf /',
      '`echo rm` x',
      '$x y',
      'eval "$y"',
      'base64 -d z | sh',
      'base64 -d z | env python3 -',
    );
    fc.assert(
      fc.property(joined, hidden, joined, fc.constantFrom('; ', ' && ', ' | ', '\n'), (before, bad, after, sign) => {
        expect([bad, isAllowed(`${before}${sign}${bad}${sign}${after}`)]).toEqual([bad, false]);
      }),
    );
  });

  const groups = fc.constantFrom(
    ['(', ')'],
    ['{ ', '; }'],
    ['while true; do ', '; done'],
    ['if true; then ', '; fi'],
    ['( ls; { ', '; })'],
  );

  test('that feeds a group feeds all of it, and nothing behind it', () => {
    fc.assert(
      fc.property(joined, groups, joined, (before, [open, close], inside) => {
        const group = (text: string) => `${before} | ${open}${text}${close}`;
        expect([inside, open, isAllowed(group(`${inside}; sh`))]).toEqual([inside, open, false]);
        expect([inside, open, isAllowed(`${group(inside)}; sh`)]).toEqual([inside, open, true]);
      }),
    );
  });

  test('is nothing to a hub without any rule', () => {
    expect(() => new SafetyRules([]).requireSafe(['sh', '-c', '$(echo rm) x'], '/')).not.toThrow();
  });
});

describe('a rule of the owner', () => {
  const own = new SafetyRules([
    { name: 'no network', forbiddenPatterns: ['curl', 'wget', 'nc', 'git push', 'tar --to-command', '/srv/private', 'secret*/'] },
  ]);

  test('forbids programs, words, options, paths and names', () => {
    for (const line of ['curl x', '/usr/bin/wget', 'git -C /x push', 'tar -x --to-comm=sh', 'ls /srv/private/x', 'ls /srv/secret-1/y']) {
      expect([line, judge(line, own)]).toEqual([line, 'RULE_BLOCKED']);
    }
    for (const line of ['git pull', 'tar -x', 'ls /srv/privateer', 'echo curly', 'rm -rf x']) {
      expect([line, judge(line, own)]).toEqual([line, 'allowed']);
    }
  });

  test('is named when it forbids', () => {
    expect(() => own.requireSafe(['nc', '-l'], '/')).toThrow(/"no network"/);
  });
});
