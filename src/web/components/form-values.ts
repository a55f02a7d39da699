/** Returns the value of the field that caused the event. For a checkbox, returns `on` if it is checked, and otherwise an empty text. */
export function inputValue(event: Event): string {
  const { target } = event;
  if (target instanceof HTMLInputElement && target.type === 'checkbox') return target.checked ? 'on' : '';
  const isField = target instanceof HTMLInputElement || target instanceof HTMLSelectElement || target instanceof HTMLTextAreaElement;
  return isField ? target.value : '';
}

/** Returns the values of a submitted form, by field name. Removes blanks at both ends of a value, except in password fields. */
export function formValues(event: SubmitEvent): Readonly<Record<string, string>> {
  event.preventDefault();
  const form = event.currentTarget;
  if (!(form instanceof HTMLFormElement)) return {};
  const secrets = new Set([...form.querySelectorAll<HTMLInputElement>('input[type=password]')].map(({ name }) => name));
  return Object.fromEntries(
    [...new FormData(form)].map(([name, value]) => [name, secrets.has(name) ? String(value) : String(value).trim()]),
  );
}
