// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy
@testable import RefrainServer

/// The files of the page.
@Suite struct PageFileTests {
  @Test func `The page is below 50 KiB in all`() {
    #expect(PageFile.allCases.reduce(0) { $0 + $1.bytes.count } < 50 << 10)
  }

  @Test func `Every reference of the page is one of its files`() throws {
    for match in PageFile.document.text.matches(of: #/(?:src|href)="(?<name>[^"]+)"/#) {
      #expect(PageFile(rawValue: "/\(match.name)") != nil, "\(match.name)")
    }
  }

  @Test func `No text needs a font for emoji`() {
    for file in PageFile.allCases {
      let emoji = file.text.unicodeScalars.filter(\.properties.isEmojiPresentation)
      #expect(emoji.isEmpty, "\(file): \(emoji.map(\.properties.name))")
    }
  }

  @Test func `No file loads anything from elsewhere`() {
    for file in PageFile.allCases {
      let urls = file.text.matches(of: #/https?:\/\/[a-z0-9.]+/#).map { String($0.output) }
      // The name of SVG, and the example in the field for a URL.
      let known = ["http://www.w3.org", "https://example.org"]
      #expect(urls.allSatisfy { known.contains($0) }, "\(file): \(urls)")
    }
  }

  @Test func `No script turns a text into markup or into a script`() {
    for word in [
      "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function(",
      "srcdoc", "setAttribute(\"on", "DOMParser", "createContextualFragment",
    ] {
      #expect(!PageFile.script.text.contains(word), "\(word)")
    }
  }

  @Test func `Every element that a script asks for is in the document`() {
    for match in PageFile.script.text.matches(of: #/byID\("(?<id>[^"]+)"\)/#) {
      #expect(PageFile.document.text.contains("id=\"\(match.id)\""), "\(match.id)")
    }
  }
}

extension PageFile {
  fileprivate var text: String { String(decoding: bytes, as: UTF8.self) }
}
