// SPDX-License-Identifier: MIT
#if os(Linux)

  /// Parses the head of a response from the lines that libcurl passes on. A pure value.
  ///
  /// libcurl accepts more than is safe where one response's bytes must never be mistaken for
  /// another's: a length that is a list or has a sign, control characters, other transfer codings
  /// (RFC 9112 §6). Interim responses (1xx) are skipped, and so are the trailers after a body.
  struct CurlHeadReader {
    struct Head: Sendable, Hashable {
      var status: Int
      var headers: HeaderFields
    }

    enum Step: Hashable {
      case incomplete
      case head(Head)
      /// In words that follow "violates HTTP: ".
      case malformed(String)
    }

    private var status: Int?
    private var fields = HeaderFields()
    private var lastName: String?
    private var lastValue = ""
    private var isDone = false
    /// Whether lines end with LF alone (RFC 9112 §2.2).
    private var hasBareEnds: Bool?

    /// - Parameter line: one line, with its end.
    mutating func read(_ line: UnsafeRawBufferPointer) -> Step {
      guard !isDone else { return .incomplete }
      var line = line[...]
      if line.last == UInt8(ascii: "\n") { line = line.dropLast() }
      let isBare = line.last != UInt8(ascii: "\r")
      if !isBare { line = line.dropLast() }
      // Some old servers end all lines so. A single such line may be part of a value that somebody
      // else gave the server.
      guard hasBareEnds ?? isBare == isBare else {
        return .malformed("its header lines have different line endings")
      }
      hasBareEnds = isBare
      guard line.allSatisfy({ $0 == 0x09 || ($0 >= 0x20 && $0 != 0x7F) }) else {
        return .malformed("its response head contains control characters")
      }
      let text = Self.text(of: line)
      guard let status else { return readStatusLine(text) }
      guard text.isEmpty else { return readField(text) }
      closeField()
      if status < 200 {
        // No request asks for another protocol.
        guard status != 101 else {
          return .malformed("its response switches to a protocol that was not requested")
        }
        self = CurlHeadReader()
        return .incomplete
      }
      isDone = true
      if let fault = faultInFraming() { return .malformed(fault) }
      return .head(Head(status: status, headers: fields))
    }

    /// Returns a line's text. The bytes of a Location that are not UTF-8 stay the same bytes of its
    /// URL: they are percent-encoded.
    private static func text(of line: Slice<UnsafeRawBufferPointer>) -> String {
      guard String(validating: line, as: UTF8.self) == nil,
        String(decoding: line.prefix(9), as: UTF8.self).lowercased() == "location:"
      else { return String(decoding: line, as: UTF8.self) }
      return line.map { $0 < 0x80 ? String(UnicodeScalar($0)) : "%" + String($0, radix: 16) }
        .joined()
    }

    private mutating func readStatusLine(_ text: String) -> Step {
      let parts = text.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: true)
      // "ICY" is SHOUTcast's.
      let isKnown = parts.first.map { $0 == "ICY" || $0 == "HTTP/1.1" || $0 == "HTTP/1.0" } ?? false
      guard isKnown, parts.count > 1, parts[1].utf8.count == 3, let code = Int64(digits: parts[1]),
        code >= 100
      else { return .malformed("its response has no valid status") }
      status = Int(code)
      return .incomplete
    }

    private mutating func readField(_ text: String) -> Step {
      if text.first == " " || text.first == "\t" {
        // One value in several lines, which is obsolete (RFC 9112 §5.2).
        guard lastName != nil else { return .malformed("its response has an invalid header") }
        lastValue += " " + text.trimmingOWS
        return .incomplete
      }
      closeField()
      guard let colon = text.firstIndex(of: ":"), text[..<colon].isToken else {
        return .malformed("its response has an invalid header")
      }
      lastName = String(text[..<colon])
      lastValue = String(text[text.index(after: colon)...].trimmingOWS)
      return .incomplete
    }

    private mutating func closeField() {
      if let lastName { fields.append(lastName, lastValue) }
      lastName = nil
    }

    /// Returns the fault in the framing fields, if any: an invalid Content-Length or transfer
    /// coding, or both fields at once.
    private func faultInFraming() -> String? {
      let lengths = fields.values(of: "Content-Length")
      let codings = fields.values(of: "Transfer-Encoding")
      guard lengths.count < 2, lengths.allSatisfy({ Int64(digits: $0) != nil }) else {
        return "its response has an invalid Content-Length"
      }
      guard codings.isEmpty || (codings.count == 1 && codings[0].lowercased() == "chunked") else {
        return "its response has a transfer coding that was not requested"
      }
      guard codings.isEmpty || lengths.isEmpty else {
        return "its response has both a Content-Length and chunks"
      }
      return nil
    }
  }
#endif
