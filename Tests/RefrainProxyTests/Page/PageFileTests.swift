// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

/// The files of the page.
@Suite struct PageFileTests {
  private static let scripts = PageFile.allCases.filter { $0.type.hasPrefix("text/javascript") }

  @Test func `The page is below 100 KiB in all`() {
    #expect(PageFile.allCases.reduce(0) { $0 + $1.bytes.count } < 100 << 10)
  }

  @Test func `Every import and reference of the page is one of its files`() throws {
    for file in Self.scripts {
      for match in file.text.matches(of: #/from "\.\/(?<name>[^"]+)"/#) {
        #expect(PageFile(path: "/page/\(match.name)") != nil, "\(file): \(match.name)")
      }
    }
    for match in PageFile.document.text.matches(of: #/(?:src|href)="(?<name>[^"]+)"/#) {
      #expect(PageFile(path: "/\(match.name)") != nil, "\(match.name)")
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
    for file in Self.scripts {
      for word in [
        "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function(",
        "srcdoc", "setAttribute(\"on", "DOMParser", "createContextualFragment",
      ] {
        #expect(!file.text.contains(word), "\(file): \(word)")
      }
    }
  }

  @Test func `Every element that a script asks for is in the document`() {
    for file in Self.scripts {
      for match in file.text.matches(of: #/(?:byID|getElementById)\("(?<id>[^"]+)"\)/#) {
        #expect(PageFile.document.text.contains("id=\"\(match.id)\""), "\(file): \(match.id)")
      }
    }
  }
}
