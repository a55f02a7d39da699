import { describe, expect, test } from 'vitest';
import { DEFAULT_SAFETY_RULES, SafetyRules } from '../../../src/connectors/sandbox/safety-rules.ts';

const rules = new SafetyRules(DEFAULT_SAFETY_RULES);
const judge = (line: string, own = rules) => {
  try {
    own.require(line.split(' '), '/etc');
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
    expect(() => rules.require(argv, '/')).toThrow(/safety rule/);
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
    for (const shell of ['sh', '/bin/bash']) expect(() => rules.require([shell, '-c', script], '/')).toThrow(/safety rule/);
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
    expect(() => own.require(['nc', '-l'], '/')).toThrow(/"no network"/);
  });
});
