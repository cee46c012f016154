// SPDX-License-Identifier: MIT

/// The elements of an MPD on the way to its segments, in one flat list: an MPD may nest elements
/// deeper than a stack is.
///
/// All other elements are skipped with their content.
struct DASHDocument: Sendable {
  /// The elements by local name (ISO/IEC 23009-1 §5.3, §5.8).
  enum Kind: String {
    case mpd = "MPD"
    case period = "Period"
    case adaptationSet = "AdaptationSet"
    case representation = "Representation"
    case baseURL = "BaseURL"
    case role = "Role"
    case label = "Label"
    case component = "ContentComponent"
    case essentialProperty = "EssentialProperty"
    case supplementalProperty = "SupplementalProperty"
    case channels = "AudioChannelConfiguration"
    case segmentBase = "SegmentBase"
    case segmentList = "SegmentList"
    case segmentTemplate = "SegmentTemplate"
    case segmentTimeline = "SegmentTimeline"
    case run = "S"
    case pattern = "Pattern"
    case segmentURL = "SegmentURL"
    case initialization = "Initialization"
    case segmentIndex = "RepresentationIndex"
  }

  struct Element {
    var kind: Kind
    /// From the start of its start tag to the end of its end tag.
    var bytes: Range<Int>
    /// The text of a BaseURL or a Label.
    var text: [UInt8] = []
    fileprivate var attributes: Range<Int>
    fileprivate var firstChild: Int?
    fileprivate var lastChild: Int?
    fileprivate var nextSibling: Int?
  }

  static let root = 0
  /// Each look-up passes over all attributes of an element.
  private static let mostAttributes = 256

  private let body: [UInt8]
  private(set) var elements: [Element] = []
  private var attributes: [MarkupScanner.Attribute] = []

  /// Nil if the body is no MPD, does not end, is not in UTF-8 (or ASCII), declares entities, or
  /// has an element with too many attributes.
  init?(_ body: [UInt8]) {
    self.body = body
    var scanner = MarkupScanner(body)
    var open: [Int] = []
    /// The number of open elements that are skipped.
    var skipped = 0
    while let token = scanner.next() {
      switch token {
      case .unsupported: return nil
      case .start(let name, let isEmpty):
        if skipped > 0 {
          if !isEmpty { skipped += 1 }
        } else if let kind = Kind(body[name], in: open.last.map { elements[$0].kind }) {
          guard scanner.attributes.count <= Self.mostAttributes else { return nil }
          let index = append(kind, name.lowerBound - 1..<scanner.position, in: open.last)
          attributes += scanner.attributes
          let first = attributes.count - scanner.attributes.count
          elements[index].attributes = first..<attributes.count
          if !isEmpty { open.append(index) } else if open.isEmpty { return }
        } else if open.isEmpty {
          return nil
        } else if !isEmpty {
          skipped += 1
        }
      case .end:
        guard skipped == 0 else {
          skipped -= 1
          continue
        }
        guard let index = open.popLast() else { return nil }
        elements[index].bytes = elements[index].bytes.lowerBound..<scanner.position
        if open.isEmpty { return }
      case .text(let range):
        guard skipped == 0, let index = open.last, elements[index].kind.hasText else { continue }
        elements[index].text += MarkupText.decoded(body[range]).map { Array($0.utf8) } ?? []
      case .section(let range):
        guard skipped == 0, let index = open.last, elements[index].kind.hasText else { continue }
        elements[index].text += body[range]
      }
    }
    return nil
  }

  private mutating func append(_ kind: Kind, _ bytes: Range<Int>, in parent: Int?) -> Int {
    let index = elements.count
    elements.append(Element(kind: kind, bytes: bytes, attributes: 0..<0))
    guard let parent else { return index }
    if let last = elements[parent].lastChild {
      elements[last].nextSibling = index
    } else {
      elements[parent].firstChild = index
    }
    elements[parent].lastChild = index
    return index
  }

  // MARK: Looking up

  /// Returns the children of an element, in their order.
  func children(of index: Int) -> some Sequence<Int> {
    sequence(state: elements[index].firstChild) { [elements] next -> Int? in
      defer { next = next.flatMap { elements[$0].nextSibling } }
      return next
    }
  }

  func children(of index: Int, _ kind: Kind) -> [Int] {
    children(of: index).filter { elements[$0].kind == kind }
  }

  func firstChild(of index: Int, _ kind: Kind) -> Int? {
    children(of: index).first { elements[$0].kind == kind }
  }

  /// Returns the value of an attribute; nil if it is missing, or is not in UTF-8.
  func attribute(_ name: StaticString, of index: Int) -> String? {
    for attribute in attributes[elements[index].attributes]
    where name.withUTF8Buffer({ body[attribute.name].elementsEqual($0) }) {
      return MarkupText.decoded(body[MarkupText.trimmed(attribute.value, in: body)])
    }
    return nil
  }

  /// Returns the text of an element without white space around it; nil if it is not in UTF-8.
  func text(of index: Int) -> String? {
    let text = elements[index].text
    return String(validating: text[MarkupText.trimmed(text.indices, in: text)], as: UTF8.self)
  }

  /// The value of a link that removes its element (§5.5.3).
  private static let resolveToZero = "urn:mpeg:dash:resolve-to-zero:2013"

  /// Returns the link to the element's content, which is elsewhere (`xlink:href`).
  func link(of index: Int) -> Link? {
    for attribute in attributes[elements[index].attributes] {
      let name = body[attribute.name]
      guard name.contains(UInt8(ascii: ":")),
        DASHElement.localName(name).elementsEqual("href".utf8)
      else { continue }
      let value = MarkupText.decoded(body[MarkupText.trimmed(attribute.value, in: body)])
      return value == Self.resolveToZero ? .removes : .elsewhere
    }
    return nil
  }

  enum Link {
    /// The element counts as missing.
    case removes
    case elsewhere
  }
}

extension DASHDocument.Kind {
  private static let longestName = 24

  /// - Parameter parent: nil for the root.
  fileprivate init?(_ name: ArraySlice<UInt8>, in parent: Self?) {
    let local = DASHElement.localName(name)
    guard local.count <= Self.longestName,
      let kind = Self(rawValue: String(decoding: local, as: UTF8.self)), kind.belongs(in: parent)
    else { return nil }
    self = kind
  }

  fileprivate var hasText: Bool { self == .baseURL || self == .label }

  private func belongs(in parent: Self?) -> Bool {
    switch self {
    case .mpd: parent == nil
    case .period: parent == .mpd
    case .adaptationSet: parent == .period
    case .representation: parent == .adaptationSet
    case .baseURL:
      parent == .mpd || parent == .period || parent == .adaptationSet || parent == .representation
    case .role, .label, .component: parent == .adaptationSet
    case .essentialProperty, .supplementalProperty, .channels:
      parent == .adaptationSet || parent == .representation
    case .segmentBase, .segmentList, .segmentTemplate:
      parent == .period || parent == .adaptationSet || parent == .representation
    case .segmentTimeline, .initialization, .segmentIndex: parent?.namesSegments == true
    case .segmentURL: parent == .segmentList
    case .run, .pattern: parent == .segmentTimeline
    }
  }

  /// Whether the element describes segments.
  var namesSegments: Bool {
    self == .segmentBase || self == .segmentList || self == .segmentTemplate
  }
}
