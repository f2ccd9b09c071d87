/** The fields of a record that have a value: `{ ...defined({ docNum }) }` has no `docNum` where it is undefined. */
export function defined<T extends object>(fields: T): { [Name in keyof T]?: Exclude<T[Name], undefined> } {
  const found: { [Name in keyof T]?: Exclude<T[Name], undefined> } = {};
  for (const name in fields) {
    const value = fields[name] as Exclude<T[typeof name], undefined> | undefined;
    if (value !== undefined) found[name] = value;
  }
  return found;
}
