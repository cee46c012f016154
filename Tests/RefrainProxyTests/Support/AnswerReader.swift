// SPDX-License-Identifier: MIT
import Foundation

/// Parses the responses on one connection strictly (RFC 9112).
enum AnswerReader {
  struct Malformed: Error, CustomStringConvertible {
    var description: String
  }

  /// - Parameter isHEAD: whether the response at an index is to HEAD.
  static func read(_ bytes: [UInt8], isHEAD: (Int) -> Bool = { _ in false }) throws -> [Reply] {
    var rest = bytes[...]
    var replies: [Reply] = []
    while !rest.isEmpty {
      guard var reply = try head(&rest) else {
        throw Malformed(description: "A head ends early: \(shown(rest))")
      }
      if (100..<200).contains(reply.status) {
        guard reply.status == 100 else { throw Malformed(description: "A \(reply.status)") }
        continue
      }
      if isHEAD(replies.count) || reply.status == 304 || reply.status == 204 {
        reply.isComplete = true
      } else {
        try body(&reply, &rest)
      }
      replies.append(reply)
      if !reply.isComplete { break }
    }
    return replies
  }

  private static func head(_ rest: inout ArraySlice<UInt8>) throws -> Reply? {
    guard let line = takeLine(&rest) else { return nil }
    guard line.hasPrefix("HTTP/1.1 "), let status = Int(line.dropFirst(9).prefix(3)),
      (100..<600).contains(status), line.dropFirst(12).first == " "
    else { throw Malformed(description: "No status line: \(line.debugDescription)") }
    var reply = Reply()
    reply.status = status
    while let line = takeLine(&rest) {
      if line.isEmpty { return reply }
      guard let colon = line.firstIndex(of: ":"), colon > line.startIndex,
        line[..<colon].utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }), !line.contains("\r"),
        !line.contains("\n"), !line.contains("\0")
      else { throw Malformed(description: "No field: \(line.debugDescription)") }
      let value = line[line.index(after: colon)...].trimmingPrefix(" ")
      reply.fields.append(Field(String(line[..<colon]), String(value)))
    }
    return nil
  }

  private static func body(_ reply: inout Reply, _ rest: inout ArraySlice<UInt8>) throws {
    let lengths = reply.fields.count { $0.name.lowercased() == "content-length" }
    let codings = reply.fields.count { $0.name.lowercased() == "transfer-encoding" }
    guard lengths + codings <= 1 else { throw Malformed(description: "Two framings") }
    if codings == 1 {
      while let line = takeLine(&rest) {
        guard let size = Int(line, radix: 16), size >= 0 else {
          throw Malformed(description: "No chunk: \(line.debugDescription)")
        }
        reply.body += rest.prefix(size)
        rest = rest.dropFirst(size)
        guard let end = takeLine(&rest) else { return }
        guard end.isEmpty else { throw Malformed(description: "A chunk is too long") }
        if size == 0 {
          reply.isComplete = true
          return
        }
      }
    } else if lengths == 1 {
      guard let length = reply["Content-Length"].flatMap({ Int($0) }), length >= 0 else {
        throw Malformed(description: "No length")
      }
      reply.body = Array(rest.prefix(length))
      rest = rest.dropFirst(length)
      reply.isComplete = reply.body.count == length
    } else {
      reply.body = Array(rest)
      rest = []
      reply.isComplete = true
    }
  }

  private static func takeLine(_ rest: inout ArraySlice<UInt8>) -> String? {
    guard let feed = rest.firstIndex(of: 10), feed > rest.startIndex, rest[feed - 1] == 13 else {
      return nil
    }
    defer { rest = rest[(feed + 1)...] }
    return String(decoding: rest[..<(feed - 1)], as: UTF8.self)
  }

  private static func shown(_ bytes: ArraySlice<UInt8>) -> String {
    String(decoding: bytes.prefix(200), as: UTF8.self).debugDescription
  }
}
