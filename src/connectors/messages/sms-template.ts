import { isJsonObject, type Json } from '../../core/json.ts';

/** What stands in the place of `{phone}` and `{message}`. */
export type SmsValues = Readonly<Record<'phone' | 'message', string>>;

const PLACEHOLDER = /\{(phone|message)\}/g;

/** A body with its placeholders filled, in texts alone; what a value holds is never filled again. */
export function fillTemplate(template: Json, values: SmsValues): Json {
  if (typeof template === 'string') return template.replaceAll(PLACEHOLDER, (_, name: keyof SmsValues) => values[name]);
  if (Array.isArray(template)) return template.map((item: Json) => fillTemplate(item, values));
  if (!isJsonObject(template)) return template;
  return Object.fromEntries(Object.entries(template).map(([key, item]) => [key, fillTemplate(item, values)]));
}
