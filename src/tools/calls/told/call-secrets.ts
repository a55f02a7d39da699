import { AtmoError } from '../../../core/errors.ts';
import type { Json, JsonObject } from '../../../core/json.ts';
import { copyJsonObject, RESULT_LIMITS } from '../../schema/plain-json.ts';
import { maskResult, withoutSecretTexts } from '../../schema/secret-params.ts';
import type { Call } from '../call.ts';
import type { CallAnswer } from '../call-answer.ts';

/** The answer as it may lie on the disk. */
export function storableAnswer(call: Call, answer: CallAnswer): JsonObject {
  if (answer.status === 'error') return copyJsonObject(answer, RESULT_LIMITS);
  return copyJsonObject({ ...answer, result: maskedResult(call, answer.result) }, RESULT_LIMITS);
}

/** The result without what its schema or the call's parameters say is secret. */
export function maskedResult({ tool, secrets }: Call, result: Json): Json {
  return withoutSecretTexts(maskResult(tool.definition.returns, result), secrets);
}

/** The error as callers may be told it: a tool may repeat in it what it was given. */
export function tellableError({ secrets }: Call, error: AtmoError): AtmoError {
  if (secrets.length === 0) return error;
  const { code, message, details } = error;
  return new AtmoError(code, withoutSecretTexts(message, secrets), withoutSecretTexts(details, secrets), { cause: error.cause });
}
