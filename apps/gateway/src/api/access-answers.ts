import { accessEntry, shapes } from '#read-models';

/** The shape of the API's answer about access. Names as in the API. */
export const accessPage = shapes.pageShape(accessEntry);
