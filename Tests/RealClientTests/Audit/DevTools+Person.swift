// SPDX-License-Identifier: MIT
import Foundation
import TestSupport
import Testing

/// What a person does with a page: look, click, type.
extension DevTools {
  /// Waits until an expression of JavaScript is true.
  func wait(for what: String, _ condition: String) async throws {
    try await eventually(what) { try await self.evaluate("Boolean(\(condition))") }
  }

  /// Waits until everything that is due has been drawn.
  func frames() async throws {
    let _: Bool = try await evaluate(
      """
      (async () => {
        for (let count = 0; count < 6; count++) await new Promise(requestAnimationFrame);
        return true;
      })()
      """)
  }

  /// Waits until the proxy's page has connected, and everything is drawn.
  func waitForPage() async throws {
    try await wait(
      for: "the page", "!['…', ''].includes(document.getElementById('disk')?.textContent ?? '')")
    try await frames()
  }

  /// Shows the page as a device does. Motion is not wanted.
  func look(_ look: PageLook) async throws {
    let features = [
      ["name": "prefers-color-scheme", "value": look.isDark ? "dark" : "light"],
      ["name": "prefers-reduced-motion", "value": "reduce"],
    ]
    _ = try await call("Emulation.setEmulatedMedia", ["features": features])
    _ = try await call(
      "Emulation.setDeviceMetricsOverride",
      [
        "width": look.width, "height": look.height, "deviceScaleFactor": 1,
        "mobile": look.isPhone,
      ])
    try await frames()
  }

  /// Keeps a picture of the page (PNG) in the folder of `REFRAIN_PICTURES`, if there is one, for
  /// people who look at it.
  func picture(_ name: String) async throws {
    guard let path = ProcessInfo.processInfo.environment["REFRAIN_PICTURES"], !path.isEmpty else {
      return
    }
    let reply = try await call("Page.captureScreenshot", ["format": "png"])
    let object = try JSONSerialization.jsonObject(with: reply) as? [String: Any]
    guard let text = object?["data"] as? String, let bytes = Data(base64Encoded: text) else {
      throw ClientFailure(description: "There is no picture of \(name).")
    }
    let folder = URL(filePath: path, directoryHint: .isDirectory)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try bytes.write(to: folder.appending(path: "page-\(name).png"))
  }

  /// Presses a key, and lets it go.
  func press(_ key: PageKey, withShift: Bool = false) async throws {
    for type in [key.text == nil ? "rawKeyDown" : "keyDown", "keyUp"] {
      var event: [String: any Sendable] = [
        "type": type, "key": key.name, "code": key.code, "windowsVirtualKeyCode": key.number,
        "modifiers": withShift ? 8 : 0,
      ]
      if type == "keyDown", let text = key.text { event["text"] = text }
      _ = try await call("Input.dispatchKeyEvent", event)
    }
  }

  /// Types into the focused field.
  func type(_ text: String) async throws {
    _ = try await call("Input.insertText", ["text": text])
  }

  /// Clicks with the mouse into the middle of an element, once it is in sight and nothing lies over
  /// it.
  ///
  /// - Parameter element: an expression of JavaScript.
  func click(_ element: String) async throws {
    var place: [Double] = []
    try await eventually("\(element) can be clicked") {
      place = try await self.evaluate(
        """
        (() => {
          const element = \(element);
          if (!element || element.disabled || !element.checkVisibility()) return [];
          element.scrollIntoView({ block: "nearest" });
          const box = element.getBoundingClientRect();
          const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
          return element.contains(document.elementFromPoint(x, y)) ? [x, y] : [];
        })()
        """)
      return place.count == 2
    }
    for type in ["mousePressed", "mouseReleased"] {
      _ = try await call(
        "Input.dispatchMouseEvent",
        ["type": type, "x": place[0], "y": place[1], "button": "left", "clickCount": 1])
    }
  }

  /// Clicks the button with a text.
  func click(button text: String, in place: String) async throws {
    try await click(Self.button(text, in: place))
  }

  /// Chooses the row whose name begins with a text. One that moves meanwhile is clicked again.
  func click(row name: String) async throws {
    let hasName = "(row) => row.textContent.startsWith(\(JSONText.of(name)))"
    try await eventually("the row \(name) is chosen") {
      try await self.click("[...document.querySelectorAll('.row')].find(\(hasName))")
      return try await self.evaluate(
        """
        (async () => {
          await new Promise((shown) => requestAnimationFrame(() => requestAnimationFrame(shown)));
          return [...document.querySelectorAll(".row[aria-selected=true]")].some(\(hasName));
        })()
        """)
    }
  }

  func click(id: String) async throws { try await click("document.getElementById('\(id)')") }

  /// Returns the expression of the visible button with a text.
  static func button(_ text: String, in place: String) -> String {
    """
    [...document.querySelectorAll(\(JSONText.of(place + " button")))].find((button) =>
      button.textContent.trim() === \(JSONText.of(text)) && button.checkVisibility())
    """
  }

  /// Waits for the page's message to the person.
  func says(_ text: String) async throws {
    do {
      try await wait(
        for: "the page says \(text)",
        "document.getElementById('message').textContent.startsWith(\(JSONText.of(text)))")
    } catch {
      let said: String = try await evaluate("document.getElementById('message').textContent")
      Issue.record("The page says: \(said)")
      throw error
    }
  }
}

/// How a page is looked at.
enum PageLook: String, CaseIterable, Sendable {
  case light, dark, lightPhone, darkPhone

  var isDark: Bool { self == .dark || self == .darkPhone }
  var isPhone: Bool { self == .lightPhone || self == .darkPhone }
  /// In pixels of the page.
  var width: Int { isPhone ? 375 : 1280 }
  var height: Int { isPhone ? 667 : 800 }
}

/// A key of the keyboard.
struct PageKey: Sendable {
  var name: String
  var code: String
  /// The "virtual key code" of Windows, by which browsers recognize keys.
  var number: Int
  /// What the key types.
  var text: String?

  static let tab = PageKey(name: "Tab", code: "Tab", number: 9)
  static let enter = PageKey(name: "Enter", code: "Enter", number: 13, text: "\r")
  static let escape = PageKey(name: "Escape", code: "Escape", number: 27)
  static let space = PageKey(name: " ", code: "Space", number: 32, text: " ")
  static let end = PageKey(name: "End", code: "End", number: 35)
  static let home = PageKey(name: "Home", code: "Home", number: 36)
  static let left = PageKey(name: "ArrowLeft", code: "ArrowLeft", number: 37)
  static let up = PageKey(name: "ArrowUp", code: "ArrowUp", number: 38)
  static let right = PageKey(name: "ArrowRight", code: "ArrowRight", number: 39)
  static let down = PageKey(name: "ArrowDown", code: "ArrowDown", number: 40)
  static let delete = PageKey(name: "Delete", code: "Delete", number: 46)
  static let slash = PageKey(name: "/", code: "Slash", number: 191, text: "/")

  /// The key of a small letter.
  static func letter(_ letter: String) -> PageKey {
    PageKey(
      name: letter, code: "Key" + letter.uppercased(),
      number: Int(letter.uppercased().utf8.first ?? 0), text: letter)
  }
}
