// SPDX-License-Identifier: MIT
import Foundation

/// The files of this package.
enum PackageFiles {
  static let root: URL = {
    var url = URL(filePath: #filePath)
    while url.pathComponents.count > 1, url.lastPathComponent != "Tests" {
      url.deleteLastPathComponent()
    }
    return url.deletingLastPathComponent()
  }()

  static func files(in folder: String, withExtension wanted: String) -> [URL] {
    let files = FileManager.default.enumerator(
      at: root.appending(path: folder), includingPropertiesForKeys: nil)
    return (files?.compactMap { $0 as? URL } ?? []).filter { $0.pathExtension == wanted }
  }

  /// A line of a source that is no comment.
  struct Line {
    var file: String
    var place: String
    var text: String
    /// The enclosing conditions, from the outermost to the innermost.
    var conditions: [String]

    func isCompiled(on platform: String) -> Bool {
      conditions.allSatisfy { PlatformCondition.holds($0, on: platform) }
    }

    /// Its words in ASCII: others are no names of a platform.
    var words: [Substring] {
      text.utf8.split { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
          false
        default: true
        }
      }.map(Substring.init)
    }
  }

  static func lines(of folder: String) throws -> [Line] {
    var lines: [Line] = []
    for file in files(in: folder, withExtension: "swift") {
      // The branches of each #if so far: the last one holds for the line, and none before it does.
      var stack: [[String]] = []
      let text = try String(contentsOf: file, encoding: .utf8).utf8
        .split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
      for (number, line) in text.enumerated() {
        let line = String(Substring(line.drop { $0 == UInt8(ascii: " ") }))
        if line.hasPrefix("#if ") {
          stack.append([String(line.dropFirst(4))])
        } else if line.hasPrefix("#elseif ") {
          stack[stack.count - 1].append(String(line.dropFirst(8)))
        } else if line == "#else" {
          stack[stack.count - 1].append("!never")
        } else if line == "#endif" {
          stack.removeLast()
        } else if !line.hasPrefix("//") {
          let conditions = stack.map { branches in
            (branches.dropLast().map { "!(\($0))" } + branches.suffix(1).map { "(\($0))" })
              .joined(separator: " && ")
          }
          lines.append(
            Line(
              file: file.path(percentEncoded: false),
              place: "\(file.lastPathComponent):\(number + 1)", text: line, conditions: conditions))
        }
      }
    }
    return lines
  }
}
