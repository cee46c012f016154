// SPDX-License-Identifier: MIT
//
// Writes a manual page for the program and for each of its commands, from the program's own help:
//
//   swiftc -o manual packaging/manual.swift
//   refrain --experimental-dump-help | ./manual VERSION DIRECTORY
//
// The pages are man(7). SOURCE_DATE_EPOCH, in seconds since 1970, is their date (today without it).
// It is compiled, because `swift FILE` confuses its names (Swift 6.3 on Linux).
import Foundation

// MARK: The help, as the program prints it

struct Help: Decodable {
  var command: Command
}

struct Command: Decodable {
  var commandName: String
  var abstract: String?
  var discussion: String?
  var shouldDisplay: Bool
  var superCommands: [String]?
  var subcommands: [Command]?
  var arguments: [Argument]?
}

struct Argument: Decodable {
  struct Name: Decodable {
    var kind: String
    var name: String

    var text: String { (kind == "long" ? "--" : "-") + name }
  }

  var kind: String
  var names: [Name]?
  var valueName: String?
  var abstract: String?
  var allValues: [String]?
  var defaultValue: String?
  var sectionTitle: String?
  var shouldDisplay: Bool
  var isOptional: Bool
  var isRepeating: Bool
  var parsingStrategy: String
}

// MARK: Text of man(7)

/// Returns text whose characters all stand for themselves.
func plain(_ text: String) -> String {
  let escapes: [Character: String] = [
    "\\": "\\e", "-": "\\-", "'": "\\(aq", "`": "\\(ga", "^": "\\(ha", "~": "\\(ti",
    "\"": "\\(dq",
  ]
  let escaped = text.map { escapes[$0] ?? String($0) }.joined()
  return escaped.hasPrefix(".") ? "\\&" + escaped : escaped
}

func bold(_ text: String) -> String { "\\fB" + plain(text) + "\\fR" }

func italic(_ text: String) -> String { "\\fI" + plain(text) + "\\fR" }

/// The parts of a command's discussion, which is paragraphs with blank lines between them.
struct Discussion {
  var paragraphs: [String] = []
  var exitCodes: [String] = []
  var examples: [String] = []

  init(_ text: String) {
    for paragraph in text.components(separatedBy: "\n\n") where !paragraph.isEmpty {
      let lines = paragraph.components(separatedBy: "\n")
      if lines[0] == "Examples:" {
        examples += lines.dropFirst().map { $0.trimmingCharacters(in: .whitespaces) }
      } else if paragraph.hasPrefix("Exit codes: ") || paragraph.hasPrefix("Exit code ") {
        exitCodes.append(
          paragraph.replacing("Exit codes: ", with: "", maxReplacements: 1))
      } else {
        paragraphs.append(lines.joined(separator: " "))
      }
    }
  }
}

// MARK: Pages

struct Page {
  var command: Command
  var version: String
  var date: String
  /// The names of all pages, for references.
  var all: [String]

  var words: [String] { (command.superCommands ?? []) + [command.commandName] }
  var name: String { words.joined(separator: "-") }

  private var arguments: [Argument] { (command.arguments ?? []).filter(\.shouldDisplay) }

  var text: String {
    let discussion = Discussion(command.discussion ?? "")
    var lines = [
      ".\\\" Made from the program's help by packaging/manual.swift; changes are lost.",
      ".TH \(plain(name).uppercased()) 1 \(date) \"refrain \(version)\" \"User Commands\"",
      ".nh", ".SH NAME",
      plain(name) + " \\- " + plain(Self.lowercased(command.abstract ?? "")),
      ".SH SYNOPSIS", synopsis,
    ]
    let paragraphs =
      discussion.paragraphs.isEmpty ? [command.abstract ?? ""] : discussion.paragraphs
    lines += section("DESCRIPTION", paragraphs.flatMap { [".PP", plain($0)] })
    lines += commands
    lines += options
    lines += section("EXIT STATUS", discussion.exitCodes.flatMap { [".PP", plain($0)] })
    let examples =
      discussion.examples.isEmpty ? [] : [".EX"] + discussion.examples.map(plain) + [".EE"]
    lines += section("EXAMPLES", examples)
    let others = all.filter { $0 != name }.map { bold($0) + "(1)" }
    lines += section("SEE ALSO", [others.joined(separator: ",\n")])
    return lines.joined(separator: "\n") + "\n"
  }

  private func section(_ title: String, _ lines: [String]) -> [String] {
    // A paragraph at the beginning of a section is one anyway.
    let lines = lines.first == ".PP" ? Array(lines.dropFirst()) : lines
    return lines.isEmpty ? [] : [".SH " + title] + lines
  }

  /// Returns an abstract as a phrase, as whatis(1) shows it.
  private static func lowercased(_ abstract: String) -> String {
    let phrase = abstract.hasSuffix(".") ? String(abstract.dropLast()) : abstract
    return phrase.prefix(1).lowercased() + phrase.dropFirst()
  }

  private var synopsis: String {
    var parts = [bold(words.joined(separator: " "))]
    if arguments.contains(where: { $0.kind != "positional" }) {
      parts.append("[" + italic("options") + "]")
    }
    if command.subcommands?.isEmpty == false { parts.append(italic("command")) }
    for argument in arguments where argument.kind == "positional" {
      var value = italic(argument.valueName ?? "value") + (argument.isRepeating ? " ..." : "")
      if argument.parsingStrategy == "postTerminator" { value = bold("--") + " " + value }
      parts.append(argument.isOptional ? "[" + value + "]" : value)
    }
    return parts.joined(separator: " ")
  }

  private var commands: [String] {
    let visible = (command.subcommands ?? []).filter {
      $0.shouldDisplay && $0.commandName != "help"
    }
    return section(
      "COMMANDS",
      visible.flatMap { sub in
        [".TP", bold(name + "-" + sub.commandName) + "(1)", plain(sub.abstract ?? "")]
      })
  }

  /// The options: those without a title first, then each title's.
  private var options: [String] {
    var titles: [String?] = [nil]
    for argument in arguments where !titles.contains(argument.sectionTitle) {
      titles.append(argument.sectionTitle)
    }
    let lines = titles.flatMap { title -> [String] in
      let own = arguments.filter { $0.sectionTitle == title }.flatMap(Self.entry)
      guard !own.isEmpty, let title else { return own }
      return [".SS " + plain(title)] + own
    }
    return section("OPTIONS", lines)
  }

  private static func entry(_ argument: Argument) -> [String] {
    let value = italic("<" + (argument.valueName ?? "value") + ">")
    let head: String
    if argument.kind == "positional" {
      head = value
    } else {
      // Short names first, as in other manuals.
      let names = (argument.names ?? []).sorted { $0.kind != "long" && $1.kind == "long" }
      let texts = names.map { bold($0.text) }.joined(separator: ", ")
      head = argument.kind == "option" ? texts + " " + value : texts
    }
    var remarks: [String] = []
    if let values = argument.allValues {
      remarks.append("values: " + values.joined(separator: ", "))
    }
    if let value = argument.defaultValue { remarks.append("default: " + value) }
    let remark = remarks.isEmpty ? "" : " (" + remarks.joined(separator: "; ") + ")"
    let text = (argument.abstract ?? "") + remark
    // What has no description still needs a body.
    return [".TP", head, text.isEmpty ? "\\&" : plain(text.trimmingCharacters(in: .whitespaces))]
  }
}

// MARK: The program

func fail(_ text: String) -> Never {
  FileHandle.standardError.write(Data((text + "\n").utf8))
  exit(1)
}

func today() -> String {
  let epoch = ProcessInfo.processInfo.environment["SOURCE_DATE_EPOCH"].flatMap(TimeInterval.init)
  return (epoch.map(Date.init(timeIntervalSince1970:)) ?? Date()).formatted(
    .iso8601.year().month().day())
}

guard CommandLine.arguments.count == 3 else {
  fail("Usage: refrain --experimental-dump-help | manual VERSION DIRECTORY")
}
do {
  let input = FileHandle.standardInput.readDataToEndOfFile()
  let program = try JSONDecoder().decode(Help.self, from: input).command
  let directory = URL(filePath: CommandLine.arguments[2], directoryHint: .isDirectory)
  let commands = [program] + (program.subcommands ?? []).filter(\.shouldDisplay)
  var pages = commands.filter { $0.commandName != "help" }.map {
    Page(command: $0, version: CommandLine.arguments[1], date: today(), all: [])
  }
  let names = pages.map(\.name)
  for index in pages.indices { pages[index].all = names }
  try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
  for page in pages {
    try Data(page.text.utf8).write(to: directory.appending(path: page.name + ".1"))
  }
} catch {
  fail("The help could not be read or a page not written: \(error)")
}
