import { expect, test } from 'vitest';
import { ALLOWED_HOST, hostEntry, hostRule } from '../../../src/connectors/web/address-policy.ts';

const may = (entry: string, url: string, address: string) => hostRule([entry])(new URL(url), address);

test.each([
  ['nas.lan', 'http://nas.lan/', '192.168.1.2'],
  ['NAS.lan', 'http://nas.lan:8080/', '192.168.1.2'],
  ['nas.lan:80', 'http://nas.lan/', '192.168.1.2'],
  ['nas.lan:443', 'https://nas.lan/', '192.168.1.2'],
  ['192.168.1.2', 'http://anything.example/', '192.168.1.2'],
  ['192.168.1.2:8080', 'http://192.168.1.2:8080/', '192.168.1.2'],
  ['192.168.1.0/24', 'http://x.example/', '192.168.1.77'],
  ['fd00::/8', 'http://x.example/', 'fd12::1'],
  ['fd12::1', 'http://[fd12::1]/', 'fd12::1'],
  ['[fd12::1]:8080', 'http://[fd12::1]:8080/', 'fd12::1'],
])('%s lets a request for %s go to %s', (entry, url, address) => {
  expect(entry).toMatch(new RegExp(ALLOWED_HOST));
  expect(may(entry, url, address)).toBe(true);
});

test.each([
  ['nas.lan', 'http://evil-nas.lan/', '192.168.1.2'],
  ['nas.lan', 'http://192.168.1.2/', '192.168.1.2'],
  ['nas.lan:8080', 'http://nas.lan/', '192.168.1.2'],
  ['192.168.1.2:8080', 'http://192.168.1.2/', '192.168.1.2'],
  ['192.168.1.0/24', 'http://x.example/', '192.168.2.1'],
  ['[fd12::1]:8080', 'http://[fd12::1]/', 'fd12::1'],
])('%s does not let a request for %s go to %s', (entry, url, address) => {
  expect(may(entry, url, address)).toBe(false);
});

test.each([
  ['https://releases.lan/hub.json', 'https://releases.lan/other.json', '192.168.1.2', true],
  ['https://releases.lan/hub.json', 'http://releases.lan/hub.json', '192.168.1.2', false],
  ['https://releases.lan/hub.json', 'https://releases.lan:8443/', '192.168.1.2', false],
  ['https://releases.lan:8443/hub.json', 'https://releases.lan:8443/', '192.168.1.2', true],
  ['https://releases.lan:8443/hub.json', 'https://releases.lan/', '192.168.1.2', false],
  ['https://[fd12::1]/directory', 'https://[fd12::1]/order', 'fd12::1', true],
  ['https://[fd12::1]/directory', 'https://[fd12::1]:8080/', 'fd12::1', false],
])('the owner who names %s lets a request for %s go to %s: %s', (named, url, address, isAllowed) => {
  expect(hostEntry(named)).toMatch(new RegExp(ALLOWED_HOST));
  expect(may(hostEntry(named), url, address)).toBe(isAllowed);
});

test.each(['', 'http://nas.lan', 'nas.lan/path', 'user@nas.lan', '*.lan', 'nas.lan:'])('%j is no entry', (entry) => {
  expect(entry).not.toMatch(new RegExp(ALLOWED_HOST));
});

test.each(['192.168.1.0/99', '192.168.1.0/24:80', 'fe80:/8'])('the network %s stops the start', (entry) => {
  expect(() => hostRule([entry])).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
});
