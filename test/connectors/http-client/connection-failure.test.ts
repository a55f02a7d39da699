import { expect, test } from 'vitest';
import { certificateFailure } from '../../../src/connectors/http-client/http-request.ts';

test.each([
  ['DEPTH_ZERO_SELF_SIGNED_CERT', /ca_file/],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', /ca_file/],
  ['CERT_HAS_EXPIRED', /renewed/],
  ['ERR_TLS_CERT_ALTNAME_INVALID', /another name/],
])('%s says what is wrong, and is not repeated', (code, advice) => {
  const failure = certificateFailure('The mail server', code);
  expect(failure).toMatchObject({ code: 'SERVICE_UNAVAILABLE', details: { reason: code, permanent: true } });
  expect(failure?.message).toMatch(/^The mail server shows a certificate that the hub does not take/);
  expect(failure?.message).toMatch(advice);
});

test('a hub that knows no time yet may try again', () => {
  expect(certificateFailure('x', 'CERT_NOT_YET_VALID')?.details).toEqual({ reason: 'CERT_NOT_YET_VALID' });
});

test('other trouble is no certificate', () => {
  for (const code of ['ECONNREFUSED', 'ERR_TLS_HANDSHAKE_TIMEOUT', '']) expect(certificateFailure('x', code)).toBeUndefined();
});
