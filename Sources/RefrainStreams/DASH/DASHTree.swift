// SPDX-License-Identifier: MIT
import Refrain

/// The elements of an MPD, or of a part of one, in the order of their start tags: an MPD may nest
/// elements deeper than a stack is.
struct DASHTree: Sendable {
  struct Element: Sendable {
    var kind: DASHElement
    /// From the start of its start tag to the end of its end tag, or of the document.
    fileprivate(set) var bytes: Range<Int>
    /// The index behind the elements in this one, which follow it.
    fileprivate(set) var end: Int
    fileprivate var attributes: Range<Int>
    /// None of an element that does not end.
    fileprivate var text: [MarkupScanner.Token] = []
  }

  private let body: [UInt8]
  /// Not empty. The attributes and the content of foreign elements are left out.
  private(set) var elements: [Element] = []
  private var attributes: [MarkupScanner.Attribute] = []
  /// The prefixes of the namespace of links, with the start of the first element that declares them:
  /// a declaration holds for the rest of the document.
  private var linkPrefixes: [ArraySlice<UInt8>: Int] = [ArraySlice("xlink".utf8): 0]
  /// Whether all elements end.
  private var isWhole = true

  /// Each look-up passes over all attributes of an element.
  private static let mostAttributes = 256

  /// Whether this is an MPD that ends, and no element has too many attributes.
  var isWholeMPD: Bool {
    isWhole && elements[0].kind == .mpd
      && elements.allSatisfy { $0.attributes.count <= Self.mostAttributes }
  }

  /// Nil if the body is no MPD nor a part of one, is not in UTF-8 (or ASCII), or declares entities.
  /// It may be incomplete at the end.
  init?(_ body: [UInt8]) {
    self.body = body
    var scanner = MarkupScanner(body)
    var open: [Int] = []
    /// The number of open elements within a foreign one.
    var skipped = 0
    while let token = scanner.next() {
      let outer = open.last.map { elements[$0].kind }
      switch token {
      case .unsupported: return nil
      case .start(_, let isEmpty) where outer?.isForeign == true: skipped += isEmpty ? 0 : 1
      case .start(let name, let isEmpty):
        let kind = outer.map { DASHElement(body[name], in: $0) } ?? DASHElement(root: body[name])
        guard outer != nil || kind != .other else { return nil }
        open.append(elements.count)
        append(kind, startingAt: name.lowerBound - 1, scanner.attributes)
        if isEmpty { close(&open, at: scanner.position) }
      case .end where skipped > 0: skipped -= 1
      case .end:
        guard !open.isEmpty else { return nil }
        close(&open, at: scanner.position)
      case .text(let range):
        guard outer != nil || MarkupText.trimmed(range, in: body).isEmpty else { return nil }
        add(token, to: open.last)
      case .section:
        guard outer != nil else { return nil }
        add(token, to: open.last)
      }
      // Only comments may follow an MPD, but several elements may replace one.
      if open.isEmpty, elements.first?.kind == .mpd { return }
    }
    guard !elements.isEmpty else { return nil }
    isWhole = open.isEmpty
    for index in open { elements[index].text = [] }
    while !open.isEmpty { close(&open, at: body.count) }
  }

  private mutating func append(
    _ kind: DASHElement, startingAt start: Int, _ own: [MarkupScanner.Attribute]
  ) {
    let first = attributes.count
    if !kind.isForeign { attributes += own }
    elements.append(
      Element(
        kind: kind, bytes: start..<body.count, end: elements.count + 1,
        attributes: first..<attributes.count))
    for attribute in attributes[first...]
    where body.hasBytes("xmlns:", at: attribute.name.lowerBound) {
      if body[attribute.value].elementsEqual("http://www.w3.org/1999/xlink".utf8) {
        let prefix = body[attribute.name].dropFirst("xmlns:".utf8.count)
        linkPrefixes[prefix] = linkPrefixes[prefix] ?? start
      }
    }
  }

  /// Ends the innermost element, whatever name the end tag has.
  private mutating func close(_ open: inout [Int], at position: Int) {
    let index = open.removeLast()
    elements[index].bytes = elements[index].bytes.lowerBound..<position
    elements[index].end = elements.count
  }

  private mutating func add(_ text: MarkupScanner.Token, to index: Int?) {
    guard let index, elements[index].kind.hasText else { return }
    elements[index].text.append(text)
  }

  // MARK: Looking up

  /// Returns the children of an element, in their order.
  func children(of index: Int) -> some Sequence<Int> {
    sequence(state: index + 1) { [elements] next -> Int? in
      guard next < elements[index].end else { return nil }
      defer { next = elements[next].end }
      return next
    }
  }

  func children(of index: Int, _ kind: DASHElement) -> [Int] {
    children(of: index).filter { elements[$0].kind == kind }
  }

  func firstChild(of index: Int, _ kind: DASHElement) -> Int? {
    children(of: index).first { elements[$0].kind == kind }
  }

  /// Returns the attributes of an element, in their order.
  func attributes(of index: Int) -> ArraySlice<MarkupScanner.Attribute> {
    attributes[elements[index].attributes]
  }

  func has(_ name: StaticString, in attribute: MarkupScanner.Attribute) -> Bool {
    attribute.name.count == name.utf8CodeUnitCount
      && body.hasBytes(name, at: attribute.name.lowerBound)
  }

  /// Returns the bytes of a value without white space around it.
  func range(of attribute: MarkupScanner.Attribute) -> Range<Int> {
    MarkupText.trimmed(attribute.value, in: body)
  }

  /// Returns the value of an attribute; nil if it is not in UTF-8.
  func value(of attribute: MarkupScanner.Attribute) -> String? {
    MarkupText.decoded(body[range(of: attribute)])
  }

  /// Returns the value of an attribute; nil if it is missing, or is not in UTF-8.
  func attribute(_ name: StaticString, of index: Int) -> String? {
    attributes(of: index).first { has(name, in: $0) }.flatMap(value)
  }

  /// Whether a value consists of digits.
  func isNumber(_ attribute: MarkupScanner.Attribute) -> Bool {
    body[range(of: attribute)].allSatisfy(\.isDigit)
  }

  /// Returns the text of an element without white space around it, and the bytes from its first
  /// character to its last; nil if it is not in UTF-8.
  func text(of index: Int) -> (text: String, range: Range<Int>)? {
    var bytes: [UInt8] = []
    var range: Range<Int>?
    for piece in elements[index].text {
      let visible: Range<Int>
      switch piece {
      case .section(let content):
        bytes += body[content]
        visible =
          content.lowerBound - MarkupScanner.sectionStart.utf8CodeUnitCount..<content.upperBound
          + MarkupScanner.sectionEnd.utf8CodeUnitCount
      case .text(let content):
        bytes += MarkupText.decoded(body[content]).map { Array($0.utf8) } ?? Array(body[content])
        visible = MarkupText.trimmed(content, in: body)
      default: continue
      }
      if !visible.isEmpty { range = (range ?? visible).lowerBound..<visible.upperBound }
    }
    let text = bytes[MarkupText.trimmed(bytes.indices, in: bytes)]
    return String(validating: text, as: UTF8.self).map { ($0, range ?? 0..<0) }
  }

  // MARK: Links

  /// A link to content of an element that is elsewhere (`xlink:href`).
  enum Link {
    /// The element counts as missing (§5.5.3).
    case removes
    case elsewhere
  }

  func link(of index: Int) -> Link? { attributes(of: index).lazy.compactMap(link).first }

  func link(in attribute: MarkupScanner.Attribute) -> Link? {
    let name = body[attribute.name]
    guard name.suffix(5).elementsEqual(":href".utf8),
      let start = linkPrefixes[name.dropLast(5)], start < name.startIndex
    else { return nil }
    return value(of: attribute) == "urn:mpeg:dash:resolve-to-zero:2013" ? .removes : .elsewhere
  }
}
