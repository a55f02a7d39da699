import { ofFunction, type Place } from './mutation.ts';

/** The protections of automations and their proposals, of messages and questions, of rehearsals and undo. */
export const AUTOMATION_PLACES: readonly Place[] = [
  {
    file: 'src/automations/proposals/proposals.ts',
    rows: [
      ['an agent accepts what an agent proposes', '    if (this.#mayAnswer(by)) return;\n', "    if (by.id !== '') return;\n"],
      ['a proposal is accepted that nobody looked at', 'if (hash !== proposal.hash)', "if (hash === '')"],
      ['a proposal is accepted although its devices have other names now', '    this.#requireSameNames(proposal);\n', ''],
      ['a person gives an accepted automation more than the person has', '    requireOwnPermissions(permissions, by);\n', ''],
      ['a proposal acts on what its agent may not see', '{ viewer: by, holder }', '{ viewer: holder, holder }'],
      [
        'a proposal names things that its agent may not see',
        'boundSeenDefinition(written, by, ports)',
        "boundSeenDefinition(written, { ...by, permissions: ['*'] }, ports)",
      ],
      [
        'an expression of a proposal reads a sensor that its agent may not see',
        "if ('sensor_id' in about) ports.things",
        "if ('sensor_id' in about && by.id === '') ports.things",
      ],
      [
        'a proposal replaces an automation that its agent may not see',
        '(seen.has(id) || isOwn(one))',
        "(seen.has(id) || isOwn(one) || by.id !== '')",
      ],
      ['a proposal replaces a version that came after it', 'if (number !== replaces.version) {', 'if (number < replaces.version) {'],
      [
        'a proposal has characters that nobody can see',
        'if (!isWrittenVisibly(JSON.stringify(written)))',
        "if (name === '' && !isWrittenVisibly(JSON.stringify(written)))",
      ],
      [
        'a proposal shows a definition that the caller may not see',
        'isLiving(one) && (mayAll || one.parent === by.id)',
        "isLiving(one) && (mayAll || one.parent !== '')",
      ],
      ['an agent lists the proposals of others', '.all().filter((proposal) => isSelfOrDescendant(proposal.by, by.id));', '.all();'],
    ],
  },
  {
    file: 'src/automations/versions/edit-checks.ts',
    rows: [
      ['a stranger edits an automation', "  requireMaker(before, by, { verb: 'edit', authorizer });\n", ''],
      ['an automation edits itself', "  requireOther(id, by, 'edit');\n", ''],
      ['an agent edits what a person accepted', '  requirePersonIfAccepted(before, by, people);\n', ''],
      ['an edit gives an automation more than the editor has', '  requireOwnPermissions(permissions, by);\n', ''],
      [
        'a person with bounds gives an automation of the owner more than it has',
        '  requireNoMore(permissions, { before, by }, people);\n',
        '',
      ],
    ],
  },
  {
    file: 'src/automations/agent-runner.ts',
    rows: [
      ['an edit is not what a person accepted', '    requireAccepted({ config, permissions }, edit.accepted);\n', ''],
      ['a new automation is not what a person accepted', '    requireAccepted({ config, permissions }, request.accepted);\n', ''],
      ['edits are unlimited', '    this.#parts.edits.charge(by);\n', ''],
    ],
  },
  {
    file: 'src/automations/replay/replay-tool.ts',
    rows: [
      [
        'a replay shows what the caller may not observe',
        'for (const who of [by, principal]) requireVisible',
        'for (const who of [principal]) requireVisible',
      ],
      ['replays are unlimited', '      ports.limiter.charge(by);\n', ''],
      ['everybody replays the past of the house', "permissions: ['agent:replay:house']", "permissions: ['agent:configure:{agent_id}']"],
      ['a draft is replayed with more than the caller has', '  requireOwnPermissions(permissions, by);\n', ''],
    ],
  },
  {
    file: 'src/automations/definition-parameters.ts',
    rows: [['a stranger replays an automation, or drafts a new definition of it', 'agents.list(by).find', 'agents.records().find']],
  },
  {
    file: 'src/automations/plan/convert-tool.ts',
    rows: [['texts of automations are read without a limit', '      limiter.charge(by);\n', '']],
  },
  {
    file: 'src/automations/traces/trace-view.ts',
    rows: [
      [
        'everybody reads what a run did',
        'const seesRun = mayReadRuns(viewer);',
        "const seesRun = mayReadRuns(viewer) || viewer.agentId !== '';",
      ],
      [
        'everybody reads what a trigger saw',
        'trigger === undefined || isVisible(trigger, viewer)',
        "trigger === undefined || isVisible(trigger, viewer) || viewer.agentId !== ''",
      ],
      ['everybody reads what a condition saw', '&& isVisible(about, viewer);', "&& (isVisible(about, viewer) || viewer.agentId !== '');"],
      [
        'everybody learns that a trigger nearly fired',
        "if (!seesTrigger && outcomeOf(cause) === 'not_triggered') return undefined;",
        "if (!seesTrigger && viewer.agentId === '') return undefined;",
      ],
      ['an expression shows the value of a hidden trigger', "(seesTrigger || about.type !== 'expression') && ", ''],
    ],
  },
  {
    file: 'src/automations/check/opposite-effects.ts',
    rows: [
      [
        'a draft finds out what a hidden automation does',
        'if (other.automation.isHidden) return',
        'if (other.automation.isHidden && count < 0) return',
      ],
    ],
  },
  {
    file: 'src/automations/check/automation-check.ts',
    rows: [['a check names a hidden automation', 'name: HIDDEN, isHidden', 'name: record.name, isHidden']],
  },
  {
    file: 'src/automations/observed.ts',
    rows: [
      ['an automation observes what it may not', ' || !canObserve(about, principal, ports.authorizer)', ''],
      [
        'the flags of the house need no permission',
        'return `flag:read:',
        "if (about.flag !== '') return undefined;\n      return `flag:read:",
      ],
      ['who is at home needs no permission', "return 'presence:read';", 'return undefined;'],
      ['the sun shows where the house is without a permission', "return 'location:read:hub';", 'return undefined;'],
    ],
  },
  {
    file: 'src/automations/automation.ts',
    rows: [
      [
        'an automation goes on observing what was taken from it',
        '    if (!this.#ports.canObserveAll(this.#plan, principal)) {',
        "    if (principal.id === '') {",
      ],
      [
        'a run goes on observing what was taken from the automation',
        '    if (!this.#ports.canObserveAll(this.#plan, principal)) throw',
        "    if (principal.id === '') throw",
      ],
    ],
  },
  {
    file: 'src/automations/house/flag-tools.ts',
    rows: [['flags are listed for who may not read them', '({ name }: Flag) => ', '({ name }: Flag) => name.length > 0 || ']],
  },
  {
    file: 'src/notices/question-store.ts',
    rows: [
      ['everybody answers a question', 'if (!question?.persons.includes(person))', 'if (!question)'],
      [
        'an agent keeps any number of questions open',
        'if (this.#ofFamily(family).filter(isOpen).length < MAX_OPEN) return;',
        "if (family !== '') return;",
      ],
    ],
  },
  {
    file: 'src/tools/builtin/question-tools.ts',
    rows: [['everybody reads a question and its answer', 'if (question && isConcerned(question, principal, people))', 'if (question)']],
  },
  {
    file: 'src/notices/person-messages.ts',
    rows: [
      ['an agent sends any number of messages', 'if (count < MAX_PER_HOUR) return;', 'if (count >= 0) return;'],
      [
        'a message has the secrets that its text has',
        'return String(redact(visibleLine(text, MAX_TEXT)));',
        'return visibleLine(text, MAX_TEXT);',
      ],
      [
        'an agent hides behind the name of what it made',
        'return rootAgentOf(agentId) === agentId || name === agentId ?',
        "return rootAgentOf(agentId) === agentId || name !== '' ?",
      ],
    ],
  },
  {
    file: 'src/http/event-visibility.ts',
    rows: [
      [
        'everybody receives the proposals of agents',
        "(this.#parts.people.personOf(receiver) !== undefined && this.#has(receiver, 'agent:spawn'))",
        "this.#has(receiver, 'agent:spawn')",
      ],
      [
        'everybody receives the flags and the presence of the house',
        "this.#has(receiver, subject.startsWith('flag/') ?",
        "receiver.id !== '' || this.#has(receiver, subject.startsWith('flag/') ?",
      ],
      [
        'everybody receives which scenes run',
        "'scene.run': ({ subject }, receiver) =>",
        "'scene.run': ({ subject }, receiver) => subject !== '' ||",
      ],
      ['a person receives the notices of others', 'personOf(receiver)?.name === subject &&', 'personOf(receiver) !== undefined &&'],
    ],
  },
  {
    file: 'src/calls/rehearsal.ts',
    rows: [
      ['rehearsals have no limit', '    rehearsalLimiter.charge(request.principal);\n', ''],
      ['a rehearsal shows values that its caller may not read', 'effects, (device) => caller.may(', 'effects, (device) => Boolean('],
    ],
  },
  {
    file: 'src/profiles/undo/undo-tool.ts',
    rows: [
      [
        'an undo names devices that its caller may not see',
        'every((id) => canSeeDevice(id, caller))',
        "every((id) => id !== '' || canSeeDevice(id, caller))",
      ],
      [
        'an undo does other things than were approved',
        'content === undefined || content === plan.content',
        "content === undefined || content !== ''",
      ],
      [
        'an undo takes back what was changed since it was approved',
        '  requireUntouched(ports, plan, { traceId: call.trace_id, own: context',
        "  if (call.trace_id === '') requireUntouched(ports, plan, { traceId: call.trace_id, own: context",
      ],
      [
        'an undo shows values that its caller may not read',
        'return (device) => caller.may(',
        "return (device) => device !== '' || caller.may(",
      ],
      ['an undo needs no permission for what it does', 'effectsOfMembers(planFor(ports, call, () => false).members)', '[]'],
    ],
  },
  {
    file: 'src/profiles/undo/undo-plan.ts',
    within: ofFunction('requireUntouched'),
    rows: [
      [
        'an undo overwrites what was changed since',
        'if (!first || places.length === 0) return;',
        'if (!first || places.length >= 0) return;',
      ],
      ['an undo overwrites what a call changed that the journal could not keep', 'ended.isCutShort || ', ''],
    ],
  },
  {
    file: 'src/profiles/undo/inverse-calls.ts',
    rows: [
      ['an undo calls a lock that wants its PIN', ' || needsPin(tool, state)) return [];', ') return [];'],
      [
        'an undo tries values of devices as a PIN',
        "if (schema['x-secret'] === true) return [];",
        "if (schema['x-secret'] === 'never') return [];",
      ],
    ],
  },
];
