import { accessEntry, shapes } from '#read-models';

/** The shapes of the API's answers about access. Names as in the API. */
export { accessEntry };
export const accessPage = shapes.pageShape(accessEntry);
