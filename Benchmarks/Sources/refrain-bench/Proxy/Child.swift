// SPDX-License-Identifier: MIT
import Foundation

/// A program that is measured, or measures, and ends with this.
final class Child {
  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  private let process = Process()
  private let output = Pipe()

  var identifier: Int32 { process.processIdentifier }

  /// - Parameter program: a path, or a name that is looked for where servers live too.
  init(_ program: String, _ arguments: [String], quiet: Bool = false) throws {
    process.executableURL = try Self.find(program)
    process.arguments = arguments
    process.standardOutput = output
    if quiet { process.standardError = FileHandle.nullDevice }
    try process.run()
  }

  /// Ends it (SIGTERM), and waits for that.
  func stop() {
    process.terminate()
    process.waitUntilExit()
  }

  /// Its first line on stdout.
  func line() throws -> String {
    var line = Data()
    while let byte = try output.fileHandleForReading.read(upToCount: 1), !byte.isEmpty {
      if byte == Data([10]) { break }
      line += byte
    }
    return String(decoding: line, as: UTF8.self)
  }

  /// All that it writes to stdout, once it has ended with status 0.
  func result() throws -> String {
    let said = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      throw Failure(
        description: "\(process.executableURL?.lastPathComponent ?? "") ended with status "
          + "\(process.terminationStatus)")
    }
    return String(decoding: said, as: UTF8.self)
  }

  static func run(_ program: String, _ arguments: [String]) throws -> String {
    try Child(program, arguments).result()
  }

  private static func find(_ program: String) throws -> URL {
    if program.contains("/") { return URL(filePath: program) }
    for directory in ["/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin"] {
      let path = directory + "/" + program
      if FileManager.default.isExecutableFile(atPath: path) { return URL(filePath: path) }
    }
    throw Failure(description: "\(program) is not installed (make bench installs it)")
  }
}
