import { isJsonObject, type Json } from '../../core/json.ts';
import { type FormField, parseJsonOrText, schemaField } from './schema-fields.ts';

const TIME_OF_DAY = /^([01]\d|2[0-3]):[0-5]\d$/;

/** Returns whether a field shows a value completely, so that nothing of the value is hidden from who reads the form. */
export function isShown(field: FormField, value: Json): boolean {
  // A field that has to be filled in may be empty for now.
  if (value === null && field.isRequired) return true;
  switch (field.kind) {
    case 'number':
    case 'duration':
      return typeof value === 'number';
    case 'text':
      // A short field has one line, and takes line ends out.
      return typeof value === 'string' && (field.isLong || !/[\r\n]/.test(value));
    case 'named':
      return typeof value === 'string';
    case 'clock':
      return typeof value === 'string' && TIME_OF_DAY.test(value);
    case 'flag':
      return typeof value === 'boolean';
    case 'choice':
      return field.options.some((option) => JSON.stringify(option) === JSON.stringify(value));
    case 'some':
      return Array.isArray(value) && value.every((item: Json) => field.options.some((option) => option.value === item));
    case 'group':
      return isJsonObject(value) && Object.entries(value).every(([name, member]) => isMemberShown(field.fields, name, member));
    case 'list':
      return Array.isArray(value) && value.every((item: Json, index) => isShown(itemField(field, index), item));
    case 'variant': {
      const option = field.options[chosenVariant(field, value)];
      return option !== undefined && isShown(option, value);
    }
    case 'json':
      return typeof value !== 'string' || parseJsonOrText(value) === value;
  }
}

function isMemberShown(fields: readonly FormField[], name: string, value: Json): boolean {
  const field = fields.find(({ path }) => path.at(-1) === name);
  return field !== undefined && isShown(field, value);
}

/** Returns the field of an item of a list. */
export function itemField({ path, item }: FormField & { readonly kind: 'list' }, index: number): FormField {
  return schemaField(item, { path: [...path, index], name: `${index + 1}`, isRequired: true });
}

/** Returns the index of the first of several schemas that takes values of this type; the first schema if none does. */
export function chosenVariant({ options }: FormField & { readonly kind: 'variant' }, value: Json | undefined): number {
  return Math.max(
    0,
    options.findIndex((option) => fits(option, value)),
  );
}

function fits({ kind }: FormField, value: Json | undefined): boolean {
  if (value === undefined) return false;
  if (kind === 'group') return isJsonObject(value);
  if (kind === 'number') return typeof value === 'number';
  return kind === 'list' ? Array.isArray(value) : typeof value === 'string';
}
