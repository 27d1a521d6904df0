/** How a changeset becomes a part of CHANGELOG.md: a heading or a list as it is, anything else as an item of a list. */
export default {
  async getReleaseLine({ summary }) {
    const text = summary.trim();
    if (text.startsWith("####")) return `${text}\n`;
    return text.startsWith("- ") ? text : `- ${text.replaceAll("\n", "\n  ")}`;
  },
  /** No package depends on another. */
  async getDependencyReleaseLine() {
    return "";
  },
};
