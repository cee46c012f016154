// SPDX-License-Identifier: MIT
import Refrain

/// A header on the command line: `Name: value`.
enum HeaderArgument {
  static func parse(_ text: String) throws -> HeaderFields.Field {
    guard let colon = text.firstIndex(of: ":") else {
      throw InvalidArgument("a header is written 'Name: value'")
    }
    let name = String(text[..<colon])
    guard name.isToken else {
      throw InvalidArgument("'\(printable(name))' is not a valid header name")
    }
    let value = text[text.index(after: colon)...]
    // Checks bytes: Swift treats CR LF as one character.
    guard value.utf8.allSatisfy({ $0 == 0x09 || ($0 >= 0x20 && $0 != 0x7f) }) else {
      throw InvalidArgument("a header's value must be one line without control characters")
    }
    return HeaderFields.Field(name: name, value: String(value.trimmingOWS))
  }
}
