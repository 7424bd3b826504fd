package org.benchbook.tcp;

import com.fasterxml.jackson.annotation.JsonAutoDetect;
import com.fasterxml.jackson.annotation.JsonAutoDetect.Visibility;
import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.annotation.JsonPropertyOrder;
import jakarta.xml.bind.annotation.XmlAccessType;
import jakarta.xml.bind.annotation.XmlAccessorType;
import jakarta.xml.bind.annotation.XmlElement;
import jakarta.xml.bind.annotation.XmlRootElement;
import jakarta.xml.bind.annotation.adapters.XmlJavaTypeAdapter;
import java.time.LocalDate;
import org.json.JSONObject;

/**
 * The object that is sent, with the field names of the other languages.
 *
 * <p>It is a bean, because java.beans.XMLDecoder reads nothing else.
 */
@XmlRootElement(name = "record")
@XmlAccessorType(XmlAccessType.FIELD)
@JsonPropertyOrder({
    "_id", "name", "email", "phone", "street", "city",
    "country", "born_on", "age", "height", "children", "active"
})
@JsonAutoDetect(
        fieldVisibility = Visibility.ANY,
        getterVisibility = Visibility.NONE,
        isGetterVisibility = Visibility.NONE,
        setterVisibility = Visibility.NONE)
public final class Person {
    @XmlElement(name = "_id")
    @JsonProperty("_id")
    private String id;

    private String name;
    private String email;
    private String phone;
    private String street;
    private String city;
    private String country;

    @XmlElement(name = "born_on")
    @JsonProperty("born_on")
    @XmlJavaTypeAdapter(Dates.class)
    private LocalDate bornOn;

    private int age;
    private double height;
    private int children;
    private boolean active;

    /** Returns the person of a line that the library wrote. */
    static Person parse(JSONObject record) {
        Person person = new Person();
        person.id = record.getString("_id");
        person.name = record.getString("name");
        person.email = record.getString("email");
        person.phone = record.getString("phone");
        person.street = record.getString("street");
        person.city = record.getString("city");
        person.country = record.getString("country");
        person.bornOn = LocalDate.parse(record.getString("born_on"));
        person.age = record.getInt("age");
        person.height = record.getDouble("height");
        person.children = record.getInt("children");
        person.active = record.getBoolean("active");
        return person;
    }

    /** Returns all fields as one text. Two persons are equal if their texts are. */
    String joinFields() {
        return String.join(
                "\n",
                id,
                name,
                email,
                phone,
                street,
                city,
                country,
                String.valueOf(bornOn),
                String.valueOf(age),
                String.valueOf(height),
                String.valueOf(children),
                String.valueOf(active));
    }

    public String getId() {
        return id;
    }

    public void setId(String id) {
        this.id = id;
    }

    public String getName() {
        return name;
    }

    public void setName(String name) {
        this.name = name;
    }

    public String getEmail() {
        return email;
    }

    public void setEmail(String email) {
        this.email = email;
    }

    public String getPhone() {
        return phone;
    }

    public void setPhone(String phone) {
        this.phone = phone;
    }

    public String getStreet() {
        return street;
    }

    public void setStreet(String street) {
        this.street = street;
    }

    public String getCity() {
        return city;
    }

    public void setCity(String city) {
        this.city = city;
    }

    public String getCountry() {
        return country;
    }

    public void setCountry(String country) {
        this.country = country;
    }

    public LocalDate getBornOn() {
        return bornOn;
    }

    public void setBornOn(LocalDate bornOn) {
        this.bornOn = bornOn;
    }

    public int getAge() {
        return age;
    }

    public void setAge(int age) {
        this.age = age;
    }

    public double getHeight() {
        return height;
    }

    public void setHeight(double height) {
        this.height = height;
    }

    public int getChildren() {
        return children;
    }

    public void setChildren(int children) {
        this.children = children;
    }

    public boolean isActive() {
        return active;
    }

    public void setActive(boolean active) {
        this.active = active;
    }
}
