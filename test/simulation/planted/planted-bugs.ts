import { type Mutation, ofFunction, type Place } from '../../../scripts/mutation.ts';

/** A mistake that somebody could make, by which the simulation shows what it finds. */
export type PlantedBug = Omit<Mutation, 'breaksTypes'>;

const PLACES: readonly Place[] = [
  {
    file: 'src/calls/idempotency-store.ts',
    rows: [
      [
        'a key is stored only when its call has ended',
        'dispatched: () => this.#parts.store.set(SPACE, id, { call_hash: callHash }, { ttlMs: RUNNING_KEPT_MS }),',
        'dispatched: () => {},',
      ],
      ['an answer is kept for 600 ms and not for ten minutes', 'const KEPT_MS = 10 * 60_000;', 'const KEPT_MS = 10 * 60;'],
      [
        'a key answers a call with other parameters',
        'if (firstHash === call.callHash) return answer;',
        'if (firstHash !== undefined) return answer;',
      ],
    ],
  },
  {
    file: 'src/calls/pipeline.ts',
    rows: [
      [
        'every error lets a call be repeated under its key',
        "const isRepeatable = answer.status === 'error' && (!call.isDispatched || ERROR_CODES[answer.error.code].retry === 'later');",
        "const isRepeatable = answer.status === 'error';",
      ],
      ['an approval that was used is given back', 'if (approval && !call.isDispatched)', 'if (approval)'],
      ['a call that has ended is kept in memory', '    call.onEnd(() => this.#calls.delete(call));\n', ''],
    ],
  },
  {
    file: 'src/calls/stages/execution.ts',
    rows: [
      ['the key is not marked before the tool runs', '  running.claim?.dispatched();\n', ''],
      [
        'the intent of a call is not awaited',
        '    await context.audit.record(intent);\n',
        '    void context.audit.record(intent).catch(() => undefined);\n',
      ],
      ['no intent is written', '    await context.audit.record(intent);\n', ''],
      ['nobody asks before a call runs whether it still has time', '  await deadline.confirm(startedMs - waitedMs);\n', ''],
    ],
  },
  {
    file: 'src/calls/stages/consent.ts',
    within: ofFunction('personsNeeded'),
    rows: [['calls without danger need approvals, and dangerous ones do not', "=== 'dangerous'", "!== 'dangerous'"]],
  },
  {
    file: 'src/calls/call-deadline.ts',
    rows: [
      ['the time that is left is the longer of two', 'Math.max(0, Math.min(this.atMs', 'Math.max(0, Math.max(this.atMs'],
      ['no call has a time limit', 'Math.min(asked ?? ofTool, ofTool,', 'Math.max(asked ?? ofTool, ofTool,'],
    ],
  },
  {
    file: 'src/calls/jobs/job-store.ts',
    within: { from: '  cancel(id: string', to: '\n  }\n' },
    rows: [
      [
        'a running job is called cancelled, and goes on',
        "if (view.status === 'waiting') {",
        "if (view.status === 'waiting' || view.status === 'queued' || view.status === 'running') {\n      this.#controllers.delete(id);",
      ],
    ],
  },
  {
    file: 'src/auth/approvals/approval-store.ts',
    rows: [
      [
        'an approval serves more than one call',
        "const used: ApprovalRecord = { ...record, state: 'used' };",
        'const used: ApprovalRecord = record;',
      ],
      ['a person who approves twice counts as two', 'given.some(({ person }) => person === word.person)', 'given.length > 1'],
      ['one approval less is enough', 'if (given.length >= record.needed) return', 'if (given.length >= record.needed - 1) return'],
      ['that an approval was used is not stored', '    this.#records.save(used);\n', ''],
      [
        'a call that was denied is called approved',
        "if (record.state === 'denied') return { state: 'denied', approvalId, by: record.deniedBy ?? '', expiresAt: isoTime(record.expiresMs) };",
        "if (record.state === 'denied') return { state: 'approved', approvalId, by: [record.deniedBy ?? ''] };",
      ],
    ],
  },
  {
    file: 'src/auth/people/people-service.ts',
    within: { from: '  async #endPerson(', to: '\n  }\n' },
    rows: [['the keys of who was removed approve on', '    await this.#removeKeys(name);\n', '']],
  },
  {
    file: 'src/auth/approvals/standing-answer-store.ts',
    rows: [
      ['an hour holds for other tokens of the agent', '        record.requester.tokenId === principal.token?.id &&\n', ''],
      ['an hour that was ended holds on', ' || record.removedBy !== undefined) return false;', ') return false;'],
    ],
  },
  {
    file: 'src/auth/approvals/approval-record.ts',
    rows: [
      ['an approval serves a call with other parameters', ' && record.callHash === request.callHash;', ';'],
      [
        'an approval serves a call of another agent',
        'isSameCall && requesterKey(record) === principalKey(request.principal) && ',
        'isSameCall && ',
      ],
    ],
  },
  {
    file: 'src/auth/tokens/token-issuer.ts',
    rows: [
      [
        'a token that an agent asks for may do all that its maker may',
        'expiresAt: Math.min(asked.expiresAt, parent.expiresAt),',
        'expiresAt: Math.min(asked.expiresAt, parent.expiresAt),\n      permissions: parent.permissions,',
      ],
    ],
  },
  {
    file: 'src/auth/tokens/token-verifier.ts',
    rows: [
      [
        'a narrower token has the permissions of its parent',
        'const { subject, permissions, audience, maxHops } = leaf;',
        'const { subject, audience, maxHops } = leaf;\n  const { permissions } = chain[0];',
      ],
      [
        'a token that has ended is taken',
        'if (nowMs >= token.expiresAtMs + TOKEN_SKEW_MS) {',
        'if (nowMs >= token.expiresAtMs * TOKEN_SKEW_MS) {',
      ],
    ],
  },
  {
    file: 'src/auth/tokens/token-chain.ts',
    within: { from: '  isSealed(text', to: '\n  }\n' },
    rows: [['any seal of a token is good', 'timingSafeEqual(given, expected)', '(timingSafeEqual(given, expected) || true)']],
  },
  {
    file: 'src/auth/tokens/revocation-list.ts',
    rows: [
      [
        'a revocation is not stored',
        "      if (statement) this.#ports.store.set(SPACE, key, Buffer.from(statement).toString('base64url'));\n",
        '',
      ],
      [
        'stored revocations are not loaded',
        'this.#note(tokenId, issuer, this.#readKept(statement).expiresAt);',
        'this.#readKept(statement);',
      ],
      [
        'revocations of other hubs are not taken',
        'if (revocation.issuer !== this.#ports.hub.hubId) this.#requireBounds(revocation);',
        'if (revocation.issuer !== this.#ports.hub.hubId) return false;',
      ],
      ['the hub that issued a token cannot revoke it elsewhere', ' || hubId === issuer || ', ' || '],
      [
        'a revocation ends when it is noted',
        'return expiresAt * 1000 + KEPT_AFTER_END_MS <= this.#ports.time.now();',
        'return expiresAt * 1000 + KEPT_AFTER_END_MS >= this.#ports.time.now();',
      ],
    ],
  },
  {
    file: 'src/mesh/gossip/statement-exchange.ts',
    rows: [
      ['a hub sends the revocations that the other one has', 'if (theirs.has(name)) return false;', 'if (!theirs.has(name)) return false;'],
      ['nobody asks for the revocations of others', '    this.#rounds.start();\n', ''],
    ],
  },
  {
    file: 'src/auth/rules/rule-store.ts',
    rows: [
      [
        'a changed rules file is not read again',
        '      this.#seen = signature;\n      return SETTLE_MS;',
        '      this.#seen = this.#signature = signature;\n      return SETTLE_MS;',
      ],
      [
        'new rules are read but the former ones hold',
        '    this.#rules = content;\n    this.#hash',
        '    if (this.#hash === undefined) this.#rules = content;\n    this.#hash',
      ],
    ],
  },
  {
    file: 'src/auth/rules/rule-set.ts',
    rows: [
      [
        'a rule that denies allows',
        "deciding.find((rule) => rule?.effect === 'deny')",
        "deciding.find((rule) => rule?.effect === 'approve')",
      ],
    ],
  },
  {
    file: 'src/storage/state-store.ts',
    rows: [
      ['the state is not synced at each write', "synchronous: 'FULL',", "synchronous: 'NORMAL',"],
      [
        'entries count only when they have expired',
        "'(expires_ms IS NULL OR expires_ms > :now)'",
        "'(expires_ms IS NULL OR expires_ms < :now)'",
      ],
      ['the sweep deletes what has not expired', "this.#drop('expires_ms <= ?',", "this.#drop('expires_ms >= ?',"],
      [
        'the second copy of revocations and approvals is not written',
        '    if (this.#trust.holds(space))\n      this.#appendTrust({',
        '    if (!this.#trust.holds(space))\n      this.#appendTrust({',
      ],
      [
        'an older second copy of revocations and approvals is replayed',
        'this.#replay(changes.filter(({ generation }) => generation > found.generation));',
        'this.#replay(changes);',
      ],
      [
        'the second copy of revocations and approvals is not replayed',
        '    this.#replay(changes.filter(({ generation }) => generation > found.generation));\n',
        '',
      ],
      ['entries that were altered are read', 'if (!isUnsigned && found.sum !== sumOf(row))', 'if (isUnsigned && found.sum !== sumOf(row))'],
    ],
  },
  {
    file: 'src/core/files/recoverable-file.ts',
    rows: [
      [
        'kept settings that are damaged count as if there had been none',
        "wasLost: () => readCopy(file) === 'damaged',",
        'wasLost: () => false,',
      ],
    ],
  },
  {
    file: 'src/core/files/owner-file.ts',
    rows: [
      [
        'an empty file of the owner counts as one without settings',
        'if (before !== undefined || this.#parts.paths.some((one) => takenOf(one).wasLost())) this.#requireSomething(text);',
        '',
      ],
    ],
  },
  {
    file: 'src/storage/checked-database.ts',
    within: ofFunction('openChecked'),
    rows: [['databases are not checked when they are opened', '      quickCheck(database, form.path);\n', '']],
  },
  {
    file: 'src/storage/state-anchors.ts',
    rows: [
      [
        'an anchor of an earlier boot counts though it was not synced',
        'if (!line || line.boot === this.#boot || line.syncedGeneration === line.committed.generation) return line?.committed;',
        'if (!line || line.committed) return line?.committed;',
      ],
    ],
  },
  {
    file: 'src/storage/audit/audit-store.ts',
    rows: [
      [
        'a guarded call does not wait until its row is on the disk',
        "    if (entry.kind === 'intent' && entry.mustSync) await this.#sync.now();\n",
        '',
      ],
    ],
  },
  {
    file: 'src/storage/audit/audit-files.ts',
    rows: [
      ['rows are in memory until they are committed', '    this.#parts.front.append(text);\n', ''],
      [
        'the front file goes on with the check of before it was emptied',
        '    this.#parts.front.cut(0);\n    this.#check = frontCheck(this.#head);\n',
        '    this.#parts.front.cut(0);\n',
      ],
      [
        'rows of the front file are forgotten at a start',
        '    this.#chained = [...rows];\n    this.#head = rows.at(-1)?.link ?? this.#head;\n',
        '',
      ],
      [
        'the front file is emptied before its rows are committed',
        '    this.#commitRows();\n    this.#clearFront();\n',
        '    this.#chained = [];\n    this.#clearFront();\n',
      ],
    ],
  },
  {
    file: 'src/automations/agent-runner.ts',
    rows: [
      ['the former version of an automation runs on', '    this.#stop(id);\n    this.#begin(edited', '    this.#begin(edited'],
      [
        'that an automation is disabled is not stored',
        '    this.#agents.put(record);\n    this.#stop(record.id);\n',
        '    this.#stop(record.id);\n',
      ],
    ],
  },
  {
    file: 'src/automations/run/run-rate-limit.ts',
    rows: [
      [
        'the pause after a run never ends',
        'return lastMs === undefined ? 0 : Math.max(0, lastMs + cooldownMs - atMs);',
        'return lastMs === undefined ? 0 : Infinity;',
      ],
    ],
  },
  {
    file: 'src/automations/triggers/clock-watches.ts',
    rows: [
      ['a time that came long ago starts a run', 'else if (nowMs - dueMs > MAX_LATE_MS)', 'else if (dueMs - nowMs > MAX_LATE_MS)'],
      ['a time that has fired is found again', 'afterMs < (found.nextMs ?? found.afterMs', 'afterMs <= (found.nextMs ?? found.afterMs'],
      ['a time fires again after the clock was set back', '    if (isDue) this.#firedMs = dueMs;\n', ''],
    ],
  },
  {
    file: 'src/notices/notice-outbox.ts',
    rows: [
      [
        'a message that was being sent when the process ended is not sent again',
        "delivery.state === 'sending' ? { ...delivery, state: 'due' } : delivery",
        'delivery',
      ],
      [
        'that a message was sent is not stored',
        "      this.#change({ ...sending, state: 'sent' });\n",
        "      this.#deliveries.set(sending.id, { ...sending, state: 'sent' });\n",
      ],
      [
        'each attempt to send a message has an id of its own',
        '{ ...rest, id, recipient,',
        '{ ...rest, id: id + sending.attempts, recipient,',
      ],
      [
        'a message that nobody took is not tried again',
        'this.#pause({ ...delivery, fault }, pauseMs);',
        "this.#change({ ...delivery, state: 'failed', fault });",
      ],
      ['who was removed is told what still waited', 'const isConcerned = persons.includes(recipient);', 'const isConcerned = true;'],
      [
        'a message that a stop cut off counts as one with an unknown outcome',
        " || (code === 'OUTCOME_UNKNOWN' && this.#stop.signal.aborted)",
        '',
      ],
    ],
  },
  {
    file: 'src/automations/proposals/proposals.ts',
    rows: [
      ['an agent accepts what it proposes', 'people.personOf(by) !== undefined && ports', 'ports'],
      [
        'a proposal is accepted with the hash of another one',
        '    if (this.#made().has(id)) throw',
        '    hash = proposal.hash;\n    if (this.#made().has(id)) throw',
      ],
      ['a proposal changes an automation that was edited since', 'if (number !== replaces.version)', 'if (number < replaces.version)'],
    ],
  },
  {
    file: 'src/automations/proposals/proposal-store.ts',
    rows: [
      [
        'what was declined can be accepted',
        'if (!proposal.answer) return proposal;',
        "if (proposal.answer?.kind !== 'accepted') return proposal;",
      ],
    ],
  },
  {
    file: 'src/http/event-feed.ts',
    rows: [
      ['who comes back gets the last event again', 'this.#history.slice(index + 1) : undefined', 'this.#history.slice(index) : undefined'],
      ['who comes back gets only what happens from then on', 'this.#history.slice(index + 1) : undefined', '[] : undefined'],
      ['nobody is told of a gap', "    if (backlog === undefined) sink.write(sseMessage('gap', { last_event_id: lastEventId }));\n", ''],
      ['a listener who does not read is never cut off', 'if (!sink.write(text)) this.#disconnect(sink);', 'sink.write(text);'],
    ],
  },
  {
    file: 'src/notices/person-messages.ts',
    rows: [
      [
        'a message to one person goes to all',
        'if (persons.includes(person)) return [person];',
        'if (persons.includes(person)) return persons;',
      ],
    ],
  },
  {
    file: 'src/mesh/rpc/call-server.ts',
    rows: [
      [
        'a call of another hub runs each time that it arrives',
        'const known = ledger.find(entryHub, id);',
        'const known = undefined as LedgerRecord | undefined;',
      ],
      [
        'a call that was on its way for long gets its whole time',
        'const timeoutMs = Math.min(statement.timeoutMs, untilMs - clock.monotonic());',
        'const { timeoutMs } = statement;',
      ],
      ['who has left cannot end a call on another hub', 'signal: request.signal, onDispatch', 'onDispatch'],
    ],
  },
  {
    file: 'src/mesh/rpc/routed-requests.ts',
    rows: [
      [
        'a request names its deadline to a hub that does not know deadlines',
        "const peerMs = this.#parts.routes.reads(peer.id, 'wire:deadline') ? peerClock.earliestMs : undefined;",
        'const peerMs = peerClock.earliestMs;',
      ],
    ],
  },
  {
    file: 'src/mesh/rpc/call-client.ts',
    rows: [
      [
        'a hub that does not know waiting jobs gets one',
        "!readers.every((hub) => routes.reads(hub, 'wire:waiting'))",
        '!readers.every((hub) => hub !== undefined)',
      ],
      [
        'a call whose connection broke is sent again',
        "if (progress.isInDoubt || error.code === 'OUTCOME_UNKNOWN') return this.#recover(sentCall);",
        "if (progress.isInDoubt || error.code === 'OUTCOME_UNKNOWN') return this.forward(target, call);",
      ],
    ],
  },
  {
    file: 'src/mesh/gossip/hub-record.ts',
    rows: [
      [
        'announcements after a start look old',
        'version.epoch > other.epoch || (version.epoch === other.epoch && version.sequence > other.sequence)',
        'version.sequence > other.sequence',
      ],
    ],
  },
  {
    file: 'src/mesh/gossip/mesh-directory.ts',
    rows: [
      [
        'a hub never sees that it has missed something',
        'isNewer(version, this.#records.get(version.hubId)?.completeVersion) && ',
        'version === undefined && ',
      ],
    ],
  },
  {
    file: 'src/mesh/gossip/anti-entropy.ts',
    rows: [['announcements that were missed are not fetched', '    this.#rounds.start();\n', '']],
  },
];

export const PLANTED_BUGS: readonly PlantedBug[] = PLACES.flatMap(({ rows, ...place }) =>
  rows.map(([name, text, instead]): PlantedBug => ({ ...place, name, text, instead })),
);

/** Returns the planted bug of this name. Throws RangeError if there is none. */
export function bugNamed(wanted: string): PlantedBug {
  const bug = PLANTED_BUGS.find(({ name }) => name === wanted);
  return bug ?? refuse(`There is no planted bug “${wanted}”`);
}

/** Returns the planted bugs whose names contain a text. Throws RangeError if there is none. */
export function bugsWith(text: string): readonly PlantedBug[] {
  const bugs = PLANTED_BUGS.filter(({ name }) => name.includes(text));
  return bugs.length > 0 ? bugs : refuse(`No name of a planted bug contains “${text}”`);
}

function refuse(problem: string): never {
  throw new RangeError(`${problem}; test/simulation/planted/planted-bugs.ts has them all`);
}
