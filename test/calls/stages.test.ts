import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { ApprovedCall, CheckedCall, ClaimedCall, ReceivedCall, RehearsedCall, RepeatedCall, ValidCall } from '../../src/calls/call.ts';
import {
  awaitRemoteTools,
  canonicalizeParameters,
  chargeRateLimit,
  claimIdempotencyKey,
  readParameters,
  refuseUnsupportedMode,
  refuseWhileDraining,
  refuseWhileMemoryIsShort,
  resolveTool,
  skipRateLimit,
  validateParameters,
} from '../../src/calls/stages/admission.ts';
import {
  authorizeEffects,
  checkCanAttempt,
  checkFeatures,
  checkStaticPermissions,
  confirmEffects,
  refuseDisabledTools,
  requireValidToken,
} from '../../src/calls/stages/authorization.ts';
import {
  applyRules,
  computeApprovalNeed,
  confirmRules,
  peekApproval,
  requireApproval,
  requireSignature,
} from '../../src/calls/stages/consent.ts';
import {
  checkResult,
  chooseRoute,
  confirmCallerWaits,
  rememberJobLocation,
  requireRoute,
  runTool,
  takeSlot,
  writeIntent,
} from '../../src/calls/stages/execution.ts';
import { StageList } from '../../src/calls/stages.ts';

const SRC = join(import.meta.dirname, '../../src');

/** Lists that end after each stage, for calls that are made and for calls that are only asked about. */
const received = StageList.from<ReceivedCall>();
const open = received.pass(refuseWhileDraining);
const accepted = open.pass(refuseWhileMemoryIsShort);
const valid = accepted.pass(requireValidToken);
const charged = valid.pass(chargeRateLimit);
const asked = valid.pass(skipRateLimit);
const discoverable = charged.pass(awaitRemoteTools);
const resolved = discoverable.pass(resolveTool);
const supported = resolved.pass(refuseUnsupportedMode);
const permitted = supported.pass(checkStaticPermissions);
const featured = permitted.pass(checkFeatures);
const enabled = featured.pass(refuseDisabledTools);
const read = enabled.pass(readParameters);
const validated = read.pass(validateParameters);
const canonical = validated.pass(canonicalizeParameters);
const authorized = canonical.pass(authorizeEffects);
const claimed = StageList.from<ClaimedCall>();
const ruled = claimed.pass(applyRules);
const vouched = ruled.pass(requireSignature);
const approved = vouched.pass(requireApproval);
const scheduled = approved.pass(takeSlot);
const routed = scheduled.pass(chooseRoute);
const recorded = routed.pass(writeIntent);
const awaited = recorded.pass(confirmCallerWaits);
const reauthorized = awaited.pass(confirmEffects);
const confirmed = reauthorized.pass(confirmRules);
const ran = confirmed.pass(runTool);
const askedAbout = asked
  .pass(awaitRemoteTools)
  .pass(resolveTool)
  .pass(refuseUnsupportedMode)
  .pass(checkStaticPermissions)
  .pass(checkFeatures)
  .pass(refuseDisabledTools);
const askedAuthorized = askedAbout.pass(readParameters).pass(validateParameters).pass(canonicalizeParameters).pass(authorizeEffects);

describe('the compiler rejects a list', () => {
  test('in which a check before the rules is missing', () => {
    const complete: StageList<ReceivedCall, ClaimedCall | RepeatedCall> = authorized.pass(claimIdempotencyKey);
    // @ts-expect-error without refuseWhileDraining
    received.pass(refuseWhileMemoryIsShort);
    // @ts-expect-error without refuseWhileMemoryIsShort
    open.pass(requireValidToken);
    // @ts-expect-error without requireValidToken
    accepted.pass(chargeRateLimit);
    // @ts-expect-error without chargeRateLimit
    valid.pass(awaitRemoteTools);
    // @ts-expect-error without awaitRemoteTools
    charged.pass(resolveTool);
    // @ts-expect-error without resolveTool
    discoverable.pass(refuseUnsupportedMode);
    // @ts-expect-error without refuseUnsupportedMode
    resolved.pass(checkStaticPermissions);
    // @ts-expect-error without checkStaticPermissions
    supported.pass(checkFeatures);
    // @ts-expect-error without checkFeatures
    permitted.pass(refuseDisabledTools);
    // @ts-expect-error without refuseDisabledTools
    featured.pass(readParameters);
    // @ts-expect-error without readParameters
    enabled.pass(validateParameters);
    // @ts-expect-error without validateParameters
    read.pass(canonicalizeParameters);
    // @ts-expect-error without canonicalizeParameters
    validated.pass(authorizeEffects);
    // @ts-expect-error without authorizeEffects
    canonical.pass(claimIdempotencyKey);
    // @ts-expect-error without claimIdempotencyKey
    authorized.pass(applyRules);
    // @ts-expect-error a repeated call does not run again
    complete.pass(applyRules);
    // @ts-expect-error a list for calls with a valid token is none for all calls
    const late: StageList<ReceivedCall, ValidCall> = StageList.from<ValidCall>();
    expect([complete, late]).toHaveLength(2);
  });

  test('in which a check between the rules and the run is missing', () => {
    // @ts-expect-error without applyRules
    claimed.pass(requireSignature);
    // @ts-expect-error without requireSignature
    ruled.pass(requireApproval);
    // @ts-expect-error without requireApproval
    vouched.pass(takeSlot);
    // @ts-expect-error without takeSlot
    approved.pass(chooseRoute);
    // @ts-expect-error without chooseRoute
    scheduled.pass(writeIntent);
    // @ts-expect-error without writeIntent
    routed.pass(confirmCallerWaits);
    // @ts-expect-error without confirmCallerWaits
    recorded.pass(confirmEffects);
    // @ts-expect-error without confirmEffects
    awaited.pass(confirmRules);
    // @ts-expect-error without confirmRules
    reauthorized.pass(runTool);
    // @ts-expect-error without runTool
    confirmed.pass(checkResult);
    // @ts-expect-error without runTool
    confirmed.pass(rememberJobLocation);
    // @ts-expect-error without checkResult
    const unchecked: StageList<ClaimedCall, CheckedCall> = ran;
    expect(unchecked).toBe(ran);
  });

  test('in which a check of a rehearsal is missing', () => {
    const askedRuled = askedAuthorized.pass(applyRules);
    const complete: StageList<ReceivedCall, RehearsedCall> = askedRuled.pass(requireRoute).pass(computeApprovalNeed);
    // @ts-expect-error without requireRoute
    askedRuled.pass(computeApprovalNeed);
    // @ts-expect-error without computeApprovalNeed
    const unasked: StageList<ReceivedCall, RehearsedCall> = askedRuled.pass(requireRoute);
    // @ts-expect-error a rehearsed call has no route to take
    askedRuled.pass(chooseRoute);
    expect([complete, unasked]).toHaveLength(2);
  });

  test('that runs a call which was only asked about', () => {
    // @ts-expect-error a call that is only asked about claims no idempotency key
    askedAuthorized.pass(claimIdempotencyKey);
    // @ts-expect-error it uses no approval up
    askedAuthorized.pass(applyRules).pass(requireApproval);
    // @ts-expect-error a glance at the approval is not the approval
    askedAuthorized.pass(applyRules).pass(peekApproval).pass(takeSlot);
    // @ts-expect-error nor is it enough that some call of the tool is permitted
    askedAbout.pass(checkCanAttempt).pass(readParameters).pass(takeSlot);
    // @ts-expect-error a call that is made does not only look at its approval
    vouched.pass(peekApproval);
    // @ts-expect-error no list begins with an approved call but one that takes it
    const skipping: StageList<ReceivedCall, ApprovedCall> = StageList.from<ApprovedCall>();
    expect(skipping).toBeInstanceOf(StageList);
  });
});

test('only stages give a call the mark that it has passed them', () => {
  const states = [...readFileSync(join(SRC, 'calls/call.ts'), 'utf8').matchAll(/^export type (\w+Call)\b/gm)].map(([, name]) => name);
  expect(states).toContain('ConfirmedCall');
  const cast = new RegExp(`\\bas (?:${states.join('|')})\\b`);
  const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
  const casting = files.filter((file) => cast.test(readFileSync(join(SRC, file), 'utf8')) && !file.startsWith('calls/stages/'));
  expect(casting).toEqual([]);
});
