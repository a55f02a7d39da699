import { expect, test } from 'vitest';
import { trustSteps } from '../../../src/web/pages/agent-snippets.ts';

const HUB = { enabled: true, url: 'https://hub.local:8081', source: 'own_authority', fingerprint_sha256: 'AB:CD' };

test('a hub with an authority of its own is trusted by its fingerprint, at the address of the page', () => {
  expect(trustSteps(HUB, 'https://10.0.0.2:8081')).toEqual({
    fingerprint: 'AB:CD',
    command: 'ATMO_URL=https://10.0.0.2:8081 atmo tls trust AB:CD',
  });
});

test('there are no steps where the hub is reached without TLS, or the owner brought a certificate', () => {
  expect(trustSteps(HUB, 'http://127.0.0.1:8081')).toBeUndefined();
  expect(trustSteps({ ...HUB, source: 'given' }, HUB.url)).toBeUndefined();
  expect(trustSteps({ enabled: false, url: 'http://127.0.0.1:8081' }, 'https://proxy.example')).toBeUndefined();
});
