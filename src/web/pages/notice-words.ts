import type { NoticeKind, NoticeRule } from '../../core/notices.ts';
import type { IconName } from '../components/icon.ts';
import { hasText, text } from '../texts/text.ts';

/** The icon of each kind of notices. */
const KIND_ICONS: Readonly<Record<NoticeKind, IconName>> = {
  smoke: 'smoke',
  leak: 'drop',
  approval: 'shield',
  question: 'people',
  lock: 'lock',
  disk: 'gauge',
  certificate: 'shield',
  automation: 'sparkle',
  proposal: 'sparkle',
  agent: 'agent',
  token: 'key',
  device: 'warning',
  message: 'speaker',
  tool: 'tools',
  battery: 'battery',
  backup: 'copy',
  update: 'refresh',
};

/** Returns the icon of a kind; a bell for a kind that this page does not know. */
export function kindIcon(kind: NoticeKind): IconName {
  return KIND_ICONS[kind] ?? 'bell';
}

/** Returns what notices of a kind are about, such as `Low batteries`; the kind itself if this page does not know it. */
export function kindWords(kind: NoticeKind): string {
  const key = `notices.kind_${kind}`;
  return hasText(key) ? text(key) : kind;
}

/** Returns the kinds and the hours of a rule, such as `Low batteries, Updates, 22:00–07:00`. */
export function ruleScope({ kinds, from, to }: NoticeRule): string {
  const about = kinds ? kinds.map(kindWords).join(', ') : text('notices.all_kinds');
  return from === undefined || to === undefined ? about : `${about}, ${text('notices.hours', { from, to })}`;
}

/** Returns what a rule says, such as `by mail` or `not told before 07:00`. */
export function ruleEffect({ ways, to }: NoticeRule): string {
  if (ways.length > 0) return text('notices.by', { ways: ways.map(wayWords).join(', ') });
  return to === undefined ? text('notices.not_told') : text('notices.told_after', { time: to });
}

/** Returns what people call a way: the owner has named all but that of browsers. */
export function wayWords(name: string): string {
  return name === 'push' ? text('notices.way_push') : name;
}

/** Returns an answer to a question in words: the usual ones in the language of the page, any other as its author wrote it. */
export function answerWords(answer: string): string {
  const key = `notices.answer_${answer}`;
  return hasText(key) ? text(key) : answer;
}
