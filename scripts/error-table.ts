import { ERROR_CODES, type RetryAdvice } from '../src/core/errors.ts';

const RETRY: Readonly<Record<RetryAdvice, string>> = {
  never: 'do not repeat',
  later: 'the same call may be repeated later',
  changed: 'repeat after a change',
};

/** docs/errors.md: every code that a caller can get, from the table in src/core/errors.ts. */
export function errorTable(): string {
  const rows = Object.entries(ERROR_CODES).map(
    ([code, kind]) => `| \`${code}\` | ${kind.httpStatus} | ${kind.exitCode} | ${RETRY[kind.retry]} | ${kind.meaning}. |`,
  );
  return `# Errors

Every interface answers a failed call with \`{"code","message","details","retryable"}\`. The message says what failed, which
thing, and what to do. This page is written by \`npm run docs\` from \`src/core/errors.ts\`.

| code | HTTP status | exit code of \`atmo\` | advice | meaning |
|---|---|---|---|---|
${rows.join('\n')}
`;
}
