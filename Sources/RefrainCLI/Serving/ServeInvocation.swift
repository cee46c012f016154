// SPDX-License-Identifier: MIT
import ArgumentParser
import RefrainProxy

/// A `refrain serve --config FILE`: the options of the file and then those of the command line,
/// which the parser of the command line reads together.
struct ServeInvocation: Sendable {
  /// The file, as it is named on the command line.
  let path: String
  let file: ConfigurationFile
  let command: ServeCommand
  /// Those of the command line, without the name of the command.
  private let arguments: [String]

  /// Whether a command line is one of `serve` that names a file. Reads nothing.
  static func hasFile(_ line: [String]) -> Bool {
    arguments(in: line).flatMap(path(in:)) != nil
  }

  /// Reads the file that a command line names. Blocks for as long as the disk takes.
  ///
  /// - Returns: nil if it names none, or is not one of `serve`.
  /// - Throws: `ConfigurationError`; what the parser throws to print help.
  static func find(in line: [String]) throws -> ServeInvocation? {
    guard let arguments = arguments(in: line), let path = path(in: arguments) else { return nil }
    return try ServeInvocation(
      path: path, file: ConfigurationFile(reading: path), arguments: arguments)
  }

  init(path: String, file: ConfigurationFile, arguments: [String]) throws {
    (self.path, self.file, self.arguments) = (path, file, arguments)
    do {
      command = try Self.command(file.arguments + arguments)
    } catch {
      guard RefrainCommand.exitCode(for: error) != .success else { throw error }
      throw Self.located(Self.message(of: error), path: path, file: file, arguments)
    }
  }

  /// Reads the file once more, under the same command line. Blocks for as long as the disk takes.
  func readAgain() throws -> ServeInvocation {
    try ServeInvocation(
      path: path, file: ConfigurationFile(reading: path), arguments: arguments)
  }

  // MARK: The command line

  /// Returns the arguments of `serve`: global options may precede its name.
  private static func arguments(in line: [String]) -> [String]? {
    for (index, word) in line.enumerated() where word == ServeCommand.configuration.commandName {
      let before = Array(line[..<index])
      // The word may be the value of an option.
      guard before.isEmpty || (try? GlobalOptions.parse(before)) != nil else { continue }
      return before + line[(index + 1)...]
    }
    return nil
  }

  /// Returns the value of the last `--config`.
  private static func path(in arguments: [String]) -> String? {
    let name = "--config"
    var path: String?
    for (index, word) in arguments.enumerated() {
      if word == name, index + 1 < arguments.count {
        path = arguments[index + 1]
      } else if word.hasPrefix(name + "=") {
        path = String(word.dropFirst(name.count + 1))
      }
    }
    return path
  }

  // MARK: Errors

  private static func command(_ arguments: [String]) throws -> ServeCommand {
    let parsed = try RefrainCommand.parseAsRoot(
      [ServeCommand.configuration.commandName ?? ""] + arguments)
    // Anything else is the command that prints help.
    guard let command = parsed as? ServeCommand else {
      throw CleanExit.helpRequest(ServeCommand.self)
    }
    try command.check()
    return command
  }

  /// Returns what is wrong with arguments; nil if nothing is. Reads them without the other commands,
  /// whose setting up costs more than one line does.
  private static func problem(of arguments: [String]) -> String? {
    do {
      try ServeCommand.parse(arguments).check()
      return nil
    } catch {
      return message(of: error)
    }
  }

  private static func message(of error: any Error) -> String {
    let message = (error as? CacheProxyError)?.description ?? RefrainCommand.message(for: error)
    // In one line, as any entry of a log.
    return message.split(whereSeparator: \.isNewline).joined(separator: " ")
  }

  /// Returns an error with the line that has caused it: one that is wrong by itself, or else the
  /// last one without which all would be different.
  private static func located(
    _ message: String, path: String, file: ConfigurationFile, _ arguments: [String]
  ) -> ConfigurationError {
    let lines = file.lines
    let culprit =
      // Each of these lines costs one run of the parser: up to a millisecond.
      lines.prefix(1000).first { problem(of: [$0.argument]) == message }
      ?? lines.indices.suffix(100).last { index in
        var others = lines
        others.remove(at: index)
        return problem(of: others.map(\.argument) + arguments) != message
      }.map { lines[$0] }
    guard let culprit else {
      return ConfigurationError(
        "\(path) and the command line", message, remedy: "'refrain help serve' has examples.")
    }
    return ConfigurationError(
      "\(path), line \(culprit.number)", message,
      remedy: "Correct the line, or begin it with '#'.")
  }
}
